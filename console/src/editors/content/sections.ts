/** The sections of a design: where they are, and how they change. Nothing is changed in place. */
import type { PlainSection, Section } from './content.ts';
import { LIQUID } from './liquid-value.ts';
import { REFERENCES } from './rich-doc.ts';

/** The place of a section: its index, or those of a section with columns, of the column, and of the section in it. */
export type SectionPath = readonly [number] | readonly [number, number, number];
/** A list of sections: those of the design, or those of a column. */
export type ListPath = readonly [] | readonly [number, number];

export const MAX_SECTIONS = 100;
const MAX_IN_COLUMN = 20;
export const MIN_COLUMNS = 2;
export const MAX_COLUMNS = 4;
export const MAX_LINKS = 20;

export type SectionType = Section['type'];

/** In the order of the menu. */
export const SECTION_NAMES: Readonly<Record<SectionType, string>> = {
  text: 'Text',
  image: 'Image',
  button: 'Button',
  columns: 'Columns',
  header: 'Header',
  divider: 'Divider',
  spacer: 'Space',
  social: 'Social links',
  html: 'HTML',
  footer: 'Footer',
};
export const SECTION_TYPES = Object.keys(SECTION_NAMES) as SectionType[];

/** Returns a section with what it needs to be saved. */
export function newSection(type: SectionType): Section {
  switch (type) {
    case 'text':
    case 'html':
      return { type, props: { html: '' } };
    case 'image':
      return { type, props: { src: '', alt: '' } };
    case 'button':
      return { type, props: { label: 'Read more', href: '' } };
    case 'columns':
      return { type, props: { columns: [{ sections: [] }, { sections: [] }] } };
    case 'spacer':
      return { type, props: { height: 20 } };
    case 'header':
    case 'divider':
    case 'social':
    case 'footer':
      return { type, props: {} };
  }
}

export const isPlain = (section: Section): section is PlainSection => section.type !== 'columns';

export const listOf = (path: SectionPath): ListPath => (path.length === 1 ? [] : [path[0], path[1]]);
export const indexIn = (path: SectionPath): number => (path.length === 1 ? path[0] : path[2]);
export const placeIn = (list: ListPath, index: number): SectionPath =>
  list.length === 0 ? [index] : [list[0], list[1], index];
export const isSameList = (one: ListPath, other: ListPath): boolean => one.join() === other.join();

/** Where the API says what is wrong with a section. */
export const fieldOf = ([index, column, inner]: SectionPath): string =>
  column === undefined || inner === undefined
    ? `design.sections.${index}`
    : `design.sections.${index}.props.columns.${column}.sections.${inner}`;

function findList(sections: readonly Section[], list: ListPath): readonly Section[] | undefined {
  if (list.length === 0) return sections;
  const section = sections[list[0]];
  return section?.type === 'columns' ? section.props.columns[list[1]]?.sections : undefined;
}

/** Returns the sections of a list; none if there is no such list. */
export const sectionsIn = (sections: readonly Section[], list: ListPath): readonly Section[] =>
  findList(sections, list) ?? [];

export const sectionAt = (sections: readonly Section[], path: SectionPath): Section | undefined =>
  sectionsIn(sections, listOf(path))[indexIn(path)];

/** Replaces a list of sections. What does not fit into a column is left out. */
function withList(sections: readonly Section[], list: ListPath, next: readonly Section[]): Section[] {
  if (list.length === 0) return [...next];
  return sections.map((section, index) => {
    if (index !== list[0] || section.type !== 'columns') return section;
    const columns = section.props.columns.map((column, at) =>
      at === list[1] ? { ...column, sections: next.filter(isPlain) } : column,
    );
    return { ...section, props: { ...section.props, columns } };
  });
}

export const replaceAt = (sections: readonly Section[], path: SectionPath, next: Section): Section[] =>
  withList(sections, listOf(path), sectionsIn(sections, listOf(path)).with(indexIn(path), next));

/** All sections of a design, also those in columns. */
export const withInner = (sections: readonly Section[]): Section[] =>
  sections.flatMap((section) =>
    section.type === 'columns'
      ? [section, ...section.props.columns.flatMap((column) => column.sections)]
      : [section],
  );

const copied = new WeakMap<readonly Section[], readonly Section[]>();

/**
 * Returns sections without repetitions: a repeated one becomes a copy. A merge may repeat one, because versions
 * of a letter share what they have in common, and a section is known by its identity. The same sections always get the
 * same copies.
 */
export function withoutRepeats(sections: readonly Section[]): readonly Section[] {
  const known = copied.get(sections);
  if (known) return known;
  const seen = new Set<Section>();
  const owned = <Each extends Section>(section: Each): Each => {
    const own = seen.has(section) ? structuredClone(section) : section;
    seen.add(own);
    return own;
  };
  const hasRepeats = new Set(withInner(sections)).size < withInner(sections).length;
  const own = hasRepeats ? sections.map((section) => withOwnColumns(owned(section), owned)) : sections;
  copied.set(sections, own);
  return own;
}

/** @param owned says which object a section in a column is */
function withOwnColumns(section: Section, owned: (section: PlainSection) => PlainSection): Section {
  if (section.type !== 'columns') return section;
  const columns = section.props.columns.map((column) => ({
    ...column,
    sections: column.sections.map(owned),
  }));
  return { ...section, props: { ...section.props, columns } };
}

/** Inserts a section. One that is in the design already, such as after two undos, becomes a copy. */
export function insertAt(sections: readonly Section[], path: SectionPath, added: Section): Section[] {
  const known = new Set(withInner(sections));
  const own = withInner([added]).some((each) => known.has(each)) ? structuredClone(added) : added;
  return withList(
    sections,
    listOf(path),
    sectionsIn(sections, listOf(path)).toSpliced(indexIn(path), 0, own),
  );
}

export const removeAt = (sections: readonly Section[], path: SectionPath): Section[] =>
  withList(sections, listOf(path), sectionsIn(sections, listOf(path)).toSpliced(indexIn(path), 1));

/** Whether a list may contain a section: columns have no columns, and no list is endless. */
export function mayStandIn(sections: readonly Section[], list: ListPath, section: Section): boolean {
  const length = findList(sections, list)?.length;
  if (length === undefined) return false;
  return list.length === 0 ? length < MAX_SECTIONS : isPlain(section) && length < MAX_IN_COLUMN;
}

/**
 * Moves a section before the one at `to`, as the places are before the move.
 * @returns null if it cannot be there; `path` is its new place
 */
export function moveTo(
  sections: readonly Section[],
  from: SectionPath,
  to: SectionPath,
): { sections: Section[]; path: SectionPath } | null {
  const section = sectionAt(sections, from);
  const { length } = sectionsIn(sections, listOf(to));
  if (indexIn(to) > length) return null;
  const isWithin = isSameList(listOf(from), listOf(to));
  if (!section || (!isWithin && !mayStandIn(sections, listOf(to), section))) return null;
  // A section taken from the design moves those behind it, also the one with the column it goes to.
  const shifted = from.length === 1 && from[0] < to[0] ? to[0] - 1 : to[0];
  const path: SectionPath =
    to.length === 3 ? [shifted, to[1], isWithin && indexIn(from) < to[2] ? to[2] - 1 : to[2]] : [shifted];
  return { sections: insertAt(removeAt(sections, from), path, section), path };
}

/** Moves a section one place up or down in its list. @returns null at the end of the list */
export function moveBy(sections: readonly Section[], from: SectionPath, by: -1 | 1) {
  const index = indexIn(from) + by;
  if (index < 0 || index >= sectionsIn(sections, listOf(from)).length) return null;
  return moveTo(sections, from, placeIn(listOf(from), by === 1 ? index + 1 : index));
}

/** Gives a section this number of columns. The last one takes the sections of those that are removed. */
export function withColumns(section: Extract<Section, { type: 'columns' }>, count: number): typeof section {
  const { columns } = section.props;
  const kept = columns.slice(0, count);
  const taken = columns.slice(count).flatMap(({ sections }) => sections);
  const last = kept.at(-1);
  if (last && taken.length > 0) kept[kept.length - 1] = { ...last, sections: [...last.sections, ...taken] };
  while (kept.length < count) kept.push({ sections: [] });
  return { ...section, props: { ...section.props, columns: kept } };
}

const MAX_SUMMARY = 120;
const textOf = (html: string) =>
  html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&nbsp;', ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, MAX_SUMMARY);
const fileOf = (url: string) => url.split(/[?#]/, 1)[0]?.split('/').at(-1) ?? '';

/** The summary of a closed section; '' if there is none. */
export function summaryOf(section: Section): string {
  switch (section.type) {
    case 'text':
    case 'html':
    case 'footer':
      return textOf(section.props.html ?? '');
    case 'header':
      return section.props.title ?? '';
    case 'image':
      return section.props.alt || fileOf(section.props.src);
    case 'button':
      return section.props.label;
    case 'columns':
      return `${section.props.columns.length} columns`;
    case 'spacer':
      return `${section.props.height} pixels`;
    case 'social':
      return section.props.links?.map(({ title, url }) => title || url).join(', ') ?? 'Links of the brand';
    case 'divider':
      return '';
  }
}

const MARKS_OR_LIQUID = new RegExp(`${LIQUID}|[&<>]`, 'g');
const escaped = (text: string) => text.replaceAll(MARKS_OR_LIQUID, (found) => REFERENCES[found] ?? found);

/** The first design of a letter: a plain text in a text section, HTML in a section of HTML. */
export function designOf(body: string): Section[] {
  const text = body.trim();
  if (text === '') {
    const greeting = '<p>Hello {{ contact.first_name | default: "there" }},</p><p></p>';
    return [newSection('header'), { type: 'text', props: { html: greeting } }];
  }
  const markup = text.replaceAll(new RegExp(LIQUID, 'g'), '');
  // A whole document or MJML cannot be inside another letter.
  if (/<(?:html|body|mjml|!doctype)\b/i.test(markup)) return designOf('');
  if (/<[a-z][^>]*>/i.test(markup)) return [newSection('header'), { type: 'html', props: { html: body } }];
  const paragraphs = text.split(/\n\s*\n/).map((each) => `<p>${escaped(each).replaceAll('\n', '<br>')}</p>`);
  return [newSection('header'), { type: 'text', props: { html: paragraphs.join('') } }];
}
