import { useState, type ReactNode } from 'react';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Notice } from '../../ui/notice.tsx';
import { clockText } from './clock-text.ts';
import type { Conflict } from './draft.ts';

function titleText({ about, by, at }: Pick<Conflict<unknown>, 'about' | 'by' | 'at'>): string {
  if (about === 'unreadable') return 'This draft cannot be read.';
  const when = at === null ? 'meanwhile' : `at ${clockText(at)}`;
  if (about === 'draft') return `${by ?? 'Someone else'} changed this ${when}.`;
  return `What is published has changed since you began, ${when}.`;
}

interface Props<Content> {
  conflict: Conflict<Content>;
  /** Whether this browser keeps what is not saved. */
  isKept: boolean;
  showVersion: (content: Content) => ReactNode;
}

/** Says who changed what the user edits, and shows both versions to choose from. */
export function ConflictNotice<Content>(props: Props<Content>) {
  const { conflict } = props;
  const title = titleText(conflict);
  return (
    <Notice tone="warn" title={title}>
      {conflict.about === 'unreadable' ? (
        <>
          <p>It has a form that this editor does not know. What is published is shown instead.</p>
          <Button kind="primary" onClick={conflict.keepMine}>
            Discard the draft
          </Button>
        </>
      ) : (
        <Choice {...props} title={title} />
      )}
    </Notice>
  );
}

function Choice<Content>({
  conflict: { about, mine, theirs, keepMine, takeTheirs },
  isKept,
  showVersion,
  title,
}: Props<Content> & { title: string }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <p>
        {isKept
          ? 'Your changes are kept, but not saved. '
          : 'Your changes are neither saved nor kept in this browser: do not close this page. '}
        Choose which version goes on.
        {about === 'published' &&
          ' If only the status was changed, for example by a pause, nothing is lost with yours.'}
      </p>
      <Button onClick={() => setOpen(true)}>Show both versions</Button>
      <Dialog open={open} onClose={() => setOpen(false)} title={title} wide>
        <div className="versions">
          <section>
            <h3>Your version</h3>
            <Button kind="primary" onClick={keepMine}>
              Keep my version
            </Button>
            {showVersion(mine)}
          </section>
          <section>
            <h3>{about === 'draft' ? 'The other version' : 'The published version'}</h3>
            <Button onClick={takeTheirs}>Take this version</Button>
            {showVersion(theirs)}
          </section>
        </div>
      </Dialog>
    </>
  );
}
