import { useState, type ReactNode } from 'react';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Notice } from '../../ui/notice.tsx';
import { conflictText } from './change-text.ts';
import { CollisionForm } from './collision-form.tsx';
import type { Conflict } from './draft.ts';
import type { Path, TextOf } from './merging.ts';

interface Props<Content> {
  conflict: Conflict<Content>;
  /** Whether this browser keeps what is not saved. */
  isKept: boolean;
  showVersion: (content: Content) => ReactNode;
  /** Names a place in the content, such as a field. */
  nameOf: (path: Path, versions: readonly Content[]) => string;
  /** Describes a value of the editor, such as a step; null for other values. */
  textOf?: TextOf | undefined;
}

/** Reports a conflicting change by someone else, and lets the user choose what to keep. */
export function ConflictNotice<Content>(props: Props<Content>) {
  const { conflict } = props;
  const title = conflictText(conflict);
  return (
    <Notice tone="warn" title={title}>
      {conflict.about === 'unreadable' ? (
        <>
          <p>This editor does not know its format, and shows the published version instead.</p>
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

function Choice<Content>(props: Props<Content> & { title: string }) {
  const { conflict, isKept, nameOf, textOf, title } = props;
  const { about, mine, theirs, collisions, resolve } = conflict;
  const [open, setOpen] = useState(false);
  const names = collisions?.map(({ path }) => nameOf(path, [mine, theirs])) ?? [];
  return (
    <>
      <p>
        {isKept
          ? 'Your changes are kept in this browser, but not saved. '
          : 'Your changes are neither saved nor kept in this browser. Do not close this page. '}
        {collisions
          ? `Both versions change ${[...new Set(names)].join(', ')}. Choose which change to keep.`
          : 'Choose which version to keep.'}
      </p>
      <Button onClick={() => setOpen(true)}>{collisions ? 'Choose' : 'Show both versions'}</Button>
      <Dialog open={open} onClose={() => setOpen(false)} title={title} wide>
        {collisions ? (
          <CollisionForm
            {...{ about, collisions, textOf, resolve }}
            nameOf={({ path }) => nameOf(path, [mine, theirs])}
          />
        ) : (
          <WholeVersions {...props} />
        )}
      </Dialog>
    </>
  );
}

function WholeVersions<Content>({ conflict, showVersion }: Props<Content>) {
  const { about, mine, theirs, keepMine, takeTheirs } = conflict;
  return (
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
  );
}
