import { Fragment, type DragEvent, type KeyboardEvent } from 'react';
import { Button } from '../../ui/button.tsx';
import type { Section } from './content.ts';
import { useLetter } from './letter-context.ts';
import { useDropAt, useSectionCommands } from './section-commands.ts';
import { useDrop } from './section-drop.ts';
import { SectionForm } from './section-form.tsx';
import { useSectionKeys } from './section-keys.ts';
import { AddSection, SectionMenu } from './section-menu.tsx';
import { DragHandle, SectionProblems, STEPS, Thumbnail } from './section-parts.tsx';
import { type ListPath, placeIn, type SectionPath, SECTION_NAMES, summaryOf } from './sections.ts';

/** The sections of the letter or of a column, with a mark before each at which one can be added. */
export function SectionList({
  list,
  sections,
  label,
}: {
  list: ListPath;
  sections: readonly Section[];
  label: string;
}) {
  const keys = useSectionKeys(sections);
  const { drop, mayDrop } = useDropAt(placeIn(list, 0));
  const take = (event: DragEvent<HTMLElement>, isDropped: boolean) => {
    if (sections.length > 0 || !mayDrop()) return;
    event.preventDefault();
    event.stopPropagation();
    if (isDropped) drop('before');
  };
  return (
    <div
      className="section-list"
      onDragOver={(event) => take(event, false)}
      onDrop={(event) => take(event, true)}
    >
      <ol aria-label={label}>
        {sections.map((section, index) => {
          const id = keys[index] ?? '';
          return (
            <Fragment key={id}>
              <li className="add-line">
                <AddSection list={list} index={index} quiet />
              </li>
              <SectionCard section={section} path={placeIn(list, index)} id={id} />
            </Fragment>
          );
        })}
      </ol>
      <AddSection list={list} index={sections.length} quiet={false} />
    </div>
  );
}

/** One section: a line with what it is, its problems, and its form when it is open. */
function SectionCard({ section, path, id }: { section: Section; path: SectionPath; id: string }) {
  const { opened, open } = useLetter();
  const { move, replace } = useSectionCommands(path);
  const { className, handlers } = useDrop(path);
  const name = SECTION_NAMES[section.type];
  const isOpen = opened === id;
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const by = STEPS[event.key];
    if (by === undefined || !event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    move(by);
  };
  return (
    <li className={`section-card ${isOpen ? 'open' : ''} ${className}`} {...handlers}>
      <div className="section-head" onKeyDown={onKeyDown}>
        <DragHandle id={id} path={path} name={name} />
        <button
          type="button"
          className="section-title"
          aria-expanded={isOpen}
          onClick={() => open(isOpen ? null : id)}
        >
          <strong>{name}</strong> <span className="muted">{summaryOf(section)}</span>
        </button>
        <Button kind="quiet" aria-label={`Move ${name} up`} onClick={() => move(-1)}>
          ↑
        </Button>
        <Button kind="quiet" aria-label={`Move ${name} down`} onClick={() => move(1)}>
          ↓
        </Button>
        <SectionMenu path={path} name={name} />
      </div>
      <SectionProblems path={path} isOpen={isOpen} />
      {section.type === 'image' && !isOpen && <Thumbnail src={section.props.src} />}
      {isOpen && <SectionForm section={section} path={path} onChange={replace} />}
      {section.type === 'columns' && path.length === 1 && (
        <div className="section-columns">
          {section.props.columns.map((column, index) => (
            <SectionList
              key={index}
              list={[path[0], index]}
              sections={column.sections}
              label={`Column ${index + 1}`}
            />
          ))}
        </div>
      )}
    </li>
  );
}
