import { useState, type ReactNode } from 'react';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Notice } from '../../ui/notice.tsx';
import { clockText } from './clock-text.ts';
import type { Conflict } from './draft.ts';

function whoText({ about, by, at }: { about: 'draft' | 'published'; by: string | null; at: string | null }) {
  const when = at === null ? 'meanwhile' : `at ${clockText(at)}`;
  if (about === 'draft') return `${by ?? 'Someone else'} changed this ${when}.`;
  return `${by ?? 'Someone'} published another version ${when}.`;
}

/** Says who changed what the user edits, and shows both versions to choose from. */
export function ConflictNotice<Content>({
  conflict,
  isKept,
  showVersion,
}: {
  conflict: Conflict<Content>;
  /** Whether this browser keeps what is not saved. */
  isKept: boolean;
  showVersion: (content: Content) => ReactNode;
}) {
  const [open, setOpen] = useState(false);
  const { about, mine, theirs, keepMine, takeTheirs } = conflict;
  return (
    <Notice tone="warn" title={whoText(conflict)}>
      <p>
        {isKept
          ? 'Your changes are kept in this browser, but not saved. '
          : 'Your changes are neither saved nor kept in this browser: do not close this page. '}
        Choose which version goes on.
      </p>
      <Button onClick={() => setOpen(true)}>Show both versions</Button>
      <Dialog open={open} onClose={() => setOpen(false)} title={whoText(conflict)} wide>
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
    </Notice>
  );
}
