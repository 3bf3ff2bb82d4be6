import { useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { useOpen } from '../../ui/links.tsx';
import { PageHeader } from '../../ui/list-page.tsx';
import { Notice } from '../../ui/notice.tsx';
import { toast } from '../../ui/toasts.tsx';
import { useCreateSegment } from './create-segment.ts';
import { useKeptSegment } from './kept-segment.ts';
import { whyNotYet } from './new-segment.ts';
import { SegmentForm, useSelection } from './segment-form.tsx';

const NO_NAME = 'Give the segment a name.';

/** Builds a segment, which exists only once it has a name and its filters. */
export function NewSegmentPage() {
  const open = useOpen();
  const { content, change, clear, isEmpty, isKept } = useKeptSegment();
  const selection = useSelection(content.filters);
  const [asked, setAsked] = useState(false);
  const create = useCreateSegment({
    done: 'The segment is created.',
    onDone({ id }) {
      clear();
      open(`/segments/${id}`);
    },
  });
  const reason = whyNotYet(content.filters, selection.isRefused);
  const isNamed = content.name.trim() !== '';
  const submit = () => {
    setAsked(true);
    if (reason === null && isNamed) create.run(content);
  };
  const discard = () => {
    clear();
    setAsked(false);
    toast('The new segment is discarded.', { undo: () => change(() => content) });
  };
  const status = isKept
    ? 'Not created yet; kept in this browser.'
    : 'Not created yet, and this browser has no room to keep it: do not close this page.';
  return (
    <>
      <PageHeader title="New segment" />
      {create.fault !== null && <Notice tone="bad">{create.fault}</Notice>}
      <SegmentForm
        {...{ content, change, selection }}
        nameErrors={asked && !isNamed ? [NO_NAME] : create.errorOf('name')}
      >
        {asked && reason !== null && (
          <p className="field-error" role="alert">
            {reason}
          </p>
        )}
      </SegmentForm>
      <div className="draft-bar">
        <span role="status" className={isKept ? 'muted' : 'bad'}>
          {isEmpty ? '' : status}
        </span>
        <div className="actions">
          {!isEmpty && (
            <Button kind="quiet" onClick={discard}>
              Discard
            </Button>
          )}
          <Button kind="primary" busy={create.busy} onClick={submit}>
            Create
          </Button>
        </div>
      </div>
    </>
  );
}
