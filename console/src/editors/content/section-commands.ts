import { toast } from '../../ui/toasts.tsx';
import type { Section } from './content.ts';
import { useLetter } from './letter-context.ts';
import { keyOf } from './section-keys.ts';
import {
  indexIn,
  insertAt,
  isPlain,
  isSameList,
  listOf,
  mayStandIn,
  moveBy,
  moveTo,
  newSection,
  placeIn,
  removeAt,
  replaceAt,
  sectionAt,
  type SectionPath,
  SECTION_NAMES,
  sectionsIn,
  type SectionType,
} from './sections.ts';

/** Applies a move, keeps the focus on what was moved, and says where it is now. */
function useTakeMove() {
  const { change, focusOn, say } = useLetter();
  return (moved: { sections: Section[]; path: SectionPath } | null) => {
    const what = moved && sectionAt(moved.sections, moved.path);
    if (!what) return;
    change(() => moved.sections);
    focusOn(keyOf(what));
    const { length } = sectionsIn(moved.sections, listOf(moved.path));
    say(`${SECTION_NAMES[what.type]} is now ${indexIn(moved.path) + 1} of ${length}`);
  };
}

/** Drops what is dragged beside the section at a place. */
export function useDropAt(path: SectionPath) {
  const { sections, dragged, drag } = useLetter();
  const takeMove = useTakeMove();
  return {
    mayDrop(): boolean {
      const what = dragged && sectionAt(sections, dragged);
      if (!what) return false;
      return isSameList(listOf(dragged), listOf(path)) || mayStandIn(sections, listOf(path), what);
    },
    drop(side: 'before' | 'after') {
      if (!dragged) return;
      const index = indexIn(path) + (side === 'after' ? 1 : 0);
      takeMove(moveTo(sections, dragged, placeIn(listOf(path), index)));
      drag(null);
    },
  };
}

/** The commands for the section at a place. Commands read the sections as they are when they run. */
export function useSectionCommands(path: SectionPath) {
  const { sections, change, open } = useLetter();
  const takeMove = useTakeMove();
  const section = sectionAt(sections, path);

  /** The columns next to this section, into which it can be moved. */
  const columnsNearby = (): { label: string; to: SectionPath }[] => {
    if (path.length !== 1 || !section || !isPlain(section)) return [];
    return ([-1, 1] as const).flatMap((by) => {
      const near = sections[path[0] + by];
      if (near?.type !== 'columns') return [];
      return near.props.columns.map((column, index) => ({
        label: `Move into column ${index + 1} ${by === -1 ? 'above' : 'below'}`,
        to: [path[0] + by, index, column.sections.length] as const,
      }));
    });
  };

  return {
    replace: (next: Section) => change((all) => replaceAt(all, path, next)),
    move: (by: -1 | 1) => takeMove(moveBy(sections, path, by)),
    moveInto: (to: SectionPath) => takeMove(moveTo(sections, path, to)),
    moveOut: () => path.length === 3 && takeMove(moveTo(sections, path, [path[0] + 1])),
    columnsNearby: columnsNearby(),
    duplicate() {
      if (!section || !mayStandIn(sections, listOf(path), section)) return;
      const copy = structuredClone(section);
      change((all) => insertAt(all, placeIn(listOf(path), indexIn(path) + 1), copy));
      open(keyOf(copy));
    },
    remove() {
      if (!section) return;
      change((all) => removeAt(all, path));
      toast(`${SECTION_NAMES[section.type]} removed.`, {
        undo: () => change((all) => insertAt(all, path, section)),
      });
    },
    /** Adds a section at this place. */
    add(type: SectionType) {
      const added = newSection(type);
      if (!mayStandIn(sections, listOf(path), added)) return;
      change((all) => insertAt(all, path, added));
      open(keyOf(added));
    },
  };
}
