import type { ReactNode } from 'react';
import { useAudienceNames } from '../../api/audience.ts';
import { type Choice, labelOf } from '../../api/choices.ts';
import type { Schemas } from '../../api/client.ts';
import { Time } from '../../ui/details.tsx';
import { FilterList } from '../../ui/filter-list.tsx';
import { isObject } from '../../ui/json-text.ts';
import type { Section } from '../content/content.ts';
import { SECTION_NAMES, summaryOf } from '../content/sections.ts';
import { fieldOf } from './field-names.ts';
import type { Path, TextOf } from './merging.ts';

type Filter = Schemas['Filter'];

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;
const MAX_TEXT = 400;

/** Text without markup, shortened. */
function plainText(text: string): string {
  const plain = text
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&nbsp;', ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return plain.length > MAX_TEXT ? `${plain.slice(0, MAX_TEXT)}…` : plain;
}

const isFilter = (value: unknown): value is Filter =>
  isObject(value) && typeof value.name === 'string' && 'predicate' in value;

const isSection = (value: unknown): value is Section =>
  isObject(value) &&
  typeof value.type === 'string' &&
  Object.hasOwn(SECTION_NAMES, value.type) &&
  isObject(value.props);

const sectionText = (section: Section): string =>
  [SECTION_NAMES[section.type], summaryOf(section)].filter((text) => text !== '').join(': ');

/** An item that was removed, or several in a row. */
const isRemoved = (path: Path, value: unknown): boolean =>
  typeof path.at(-1) === 'object' && (value === undefined || (Array.isArray(value) && value.length === 0));

const LISTS: readonly unknown[] = ['contact_list_id', 'exclude_list_ids', 'list_id'];
const SEGMENTS: readonly unknown[] = ['segment_id', 'exclude_segment_ids'];

/** Shows a value of a content to someone who has to choose between two of them. */
export function FieldValue({
  path,
  value,
  textOf,
}: {
  path: Path;
  value: unknown;
  /** What the page itself can say about a value, such as a step; null if nothing. */
  textOf?: TextOf | undefined;
}): ReactNode {
  const names = useAudienceNames();
  const own = textOf?.(value, path) ?? null;
  if (own !== null) return own;
  if (isRemoved(path, value)) return <span className="muted">Removed</span>;
  if (isFilter(value)) return <FilterList filters={[value]} names={names} />;
  if (Array.isArray(value) && value.length > 0 && value.every(isFilter)) {
    return <FilterList filters={value} names={names} />;
  }
  const field = path.findLast((part) => typeof part === 'string');
  const choices = LISTS.includes(field) ? names.lists : SEGMENTS.includes(field) ? names.segments : null;
  return <SimpleValue value={value} choices={choices} textOf={textOf} />;
}

interface SimpleProps {
  /** What the ids mean. */
  choices: readonly Choice[] | null;
  textOf: TextOf | undefined;
}

function SimpleValue({ value, choices, textOf }: SimpleProps & { value: unknown }): ReactNode {
  if (Array.isArray(value)) return <ListValue values={value} choices={choices} textOf={textOf} />;
  if (typeof value === 'string') return <TextValue value={value} />;
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  if (value === null || value === undefined) return <span className="muted">Nothing</span>;
  if (typeof value === 'number') return labelOf(choices ?? [], value);
  if (isSection(value)) return sectionText(value);
  return isObject(value) ? <ObjectValue value={value} textOf={textOf} /> : null;
}

function TextValue({ value }: { value: string }) {
  if (TIME.test(value)) return <Time at={value} full />;
  return plainText(value) || <span className="muted">Empty</span>;
}

function ListValue({ values, choices, textOf }: SimpleProps & { values: readonly unknown[] }) {
  if (values.length === 0) return <span className="muted">Nothing</span>;
  return (
    <ol>
      {values.map((value, index) => (
        // They have no ids, and are only shown.
        <li key={index}>{textOf?.(value, []) ?? <SimpleValue {...{ value, choices, textOf }} />}</li>
      ))}
    </ol>
  );
}

function ObjectValue({ value, textOf }: { value: Record<string, unknown>; textOf: SimpleProps['textOf'] }) {
  const given = Object.entries(value).filter(([, each]) => each !== null && each !== undefined);
  return (
    <ul>
      {given.map(([name, each]) => (
        <li key={name}>
          {fieldOf([name])}: <FieldValue path={[name]} value={each} textOf={textOf} />
        </li>
      ))}
    </ul>
  );
}
