import { Menu } from '../../ui/menu.tsx';
import { useLetter } from './letter-context.ts';
import { useSectionCommands } from './section-commands.ts';
import {
  type ListPath,
  MAX_SECTIONS,
  placeIn,
  type SectionPath,
  SECTION_NAMES,
  SECTION_TYPES,
} from './sections.ts';

/** More commands for a section. */
export function SectionMenu({ path, name }: { path: SectionPath; name: string }) {
  const { duplicate, remove, moveInto, moveOut, columnsNearby } = useSectionCommands(path);
  return (
    <Menu
      className="button quiet"
      label={
        <>
          <span aria-hidden>⋯</span>
          <span className="visually-hidden">More for {name}</span>
        </>
      }
      items={[
        { label: 'Duplicate', onSelect: duplicate },
        ...columnsNearby.map(({ label, to }) => ({ label, onSelect: () => moveInto(to) })),
        ...(path.length === 3 ? [{ label: 'Move out of the columns', onSelect: () => void moveOut() }] : []),
        { label: 'Remove', danger: true, onSelect: remove },
      ]}
    />
  );
}

/** Adds a section at a place. @param quiet between sections, where it is only a mark */
export function AddSection({ list, index, quiet }: { list: ListPath; index: number; quiet: boolean }) {
  const { sections } = useLetter();
  const { add } = useSectionCommands(placeIn(list, index));
  const types = list.length === 0 ? SECTION_TYPES : SECTION_TYPES.filter((type) => type !== 'columns');
  if (sections.length >= MAX_SECTIONS) return null;
  return (
    <Menu
      className={quiet ? 'add-mark' : 'button'}
      label={
        quiet ? <span aria-label={`Add a section before number ${index + 1}`}>+</span> : '+ Add a section'
      }
      items={types.map((type) => ({ label: SECTION_NAMES[type], onSelect: () => add(type) }))}
    />
  );
}
