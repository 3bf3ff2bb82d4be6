import { useEffect, useRef } from 'react';
import { ownPath } from '../../api/uploads.ts';
import { useLetter } from './letter-context.ts';
import { useSectionCommands } from './section-commands.ts';
import { fieldOf, indexIn, type SectionPath } from './sections.ts';

/** Where keys move a section. */
export const STEPS: Readonly<Record<string, -1 | 1>> = { ArrowUp: -1, ArrowDown: 1 };

/** Moves its section: it is dragged, or moved by the arrow keys. */
export function DragHandle({ id, path, name }: { id: string; path: SectionPath; name: string }) {
  const { drag, takesFocus } = useLetter();
  const { move } = useSectionCommands(path);
  const handle = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (takesFocus(id)) handle.current?.focus();
  });
  return (
    <button
      ref={handle}
      type="button"
      className="button quiet drag-handle"
      draggable
      aria-label={`Move ${name}, number ${indexIn(path) + 1}`}
      title="Drag it, or press ↑ or ↓"
      onKeyDown={(event) => {
        const by = STEPS[event.key];
        if (by === undefined) return;
        event.preventDefault();
        event.stopPropagation();
        move(by);
      }}
      onDragStart={(event) => {
        event.dataTransfer.setData('text/plain', name);
        event.dataTransfer.effectAllowed = 'move';
        const card = event.currentTarget.closest('li');
        if (card) event.dataTransfer.setDragImage(card, 0, 0);
        drag(path);
      }}
      onDragEnd={() => drag(null)}
    >
      ⠿
    </button>
  );
}

/** The policy of the page shows files of this service only; the preview shows all. */
export function Thumbnail({ src }: { src: string }) {
  const path = ownPath(src);
  return path === null ? null : <img src={path} alt="" className="thumb" />;
}

/** The fields of an open section show what is wrong with them, so only problems without a field are listed. */
export function SectionProblems({ path, isOpen }: { path: SectionPath; isOpen: boolean }) {
  const { problemsAt } = useLetter();
  const field = fieldOf(path);
  const inner = `${field}.props.columns.`;
  const own = problemsAt(field).filter((problem) => !problem.field.startsWith(inner));
  const shown = isOpen
    ? own.filter((each) => !/\.(?:props|styles)\.\w/.test(each.field.slice(field.length)))
    : own;
  if (shown.length === 0) return null;
  return (
    <ul className="section-problems">
      {shown.map(({ field: at, text, isError }) => (
        <li key={`${at} ${text}`} className={isError ? 'bad' : 'warn'}>
          {text}
        </li>
      ))}
    </ul>
  );
}
