import { useState, type ReactNode } from 'react';
import { messageOf } from '../../api/errors.ts';
import { Button } from '../../ui/button.tsx';
import { clockText } from '../../ui/clock-text.ts';
import { toast } from '../../ui/toasts.tsx';
import { ConflictNotice } from './conflict-notice.tsx';
import type { Draft } from './draft.ts';
import type { TextOf } from './merging.ts';

const LOST = 'Neither saved nor kept in this browser, which has no room for it: do not close this page.';

function stateText<Content>(
  { state, savedAt, fault, isKept, conflict }: Draft<Content>,
  publishedText: string,
): string {
  if (state === 'published') return publishedText;
  if (state === 'saving') return 'Saving…';
  if (conflict?.about === 'unreadable') return 'Nothing is saved until the draft is discarded.';
  if (state === 'conflict') return 'Not saved until you choose a version.';
  if (state === 'failed') return `${isKept ? 'Not saved yet; kept in this browser.' : LOST} ${fault ?? ''}`;
  return savedAt === null ? 'Unpublished changes.' : `Unpublished changes, saved ${clockText(savedAt)}.`;
}

/** The state of the changes in an editor, and the actions on them. */
export function DraftBar<Content>({
  draft,
  publishLabel = 'Publish',
  publishedText = 'Everything is published.',
  onPublish,
  showVersion,
  textOf,
  disabled = false,
  busy = false,
  children,
}: {
  draft: Draft<Content>;
  publishLabel?: string;
  /** Shown while there is nothing to publish. */
  publishedText?: string;
  onPublish: () => void;
  /** Shows a version to someone who has to choose one. */
  showVersion: (content: Content) => ReactNode;
  /** Says what a value of the content is, such as a step; null if it is no such thing. */
  textOf?: TextOf;
  /** What is written cannot be published as it is. */
  disabled?: boolean;
  /** It is being published. */
  busy?: boolean;
  /** More actions, before the others. */
  children?: ReactNode;
}) {
  const [discarding, setDiscarding] = useState(false);
  const { state, content, change } = draft;
  const discard = async () => {
    setDiscarding(true);
    try {
      await draft.discard();
      toast('The changes are discarded.', { undo: () => change(() => content) });
    } catch (error) {
      toast(messageOf(error), { tone: 'bad' });
    } finally {
      setDiscarding(false);
    }
  };
  const hasChanges = state !== 'published' && state !== 'conflict';
  return (
    <div className="draft-bar">
      {draft.conflict && (
        <ConflictNotice
          {...{ showVersion, textOf }}
          conflict={draft.conflict}
          isKept={draft.isKept}
          nameOf={draft.nameOf}
        />
      )}
      <span role="status" className={state === 'failed' ? 'bad' : 'muted'}>
        {stateText(draft, publishedText)}
      </span>
      <div className="actions">
        {children}
        {hasChanges && (
          <Button kind="quiet" busy={discarding} onClick={() => void discard()}>
            Discard changes
          </Button>
        )}
        <Button kind="primary" busy={busy} disabled={disabled || !hasChanges} onClick={onPublish}>
          {publishLabel}
        </Button>
      </div>
    </div>
  );
}
