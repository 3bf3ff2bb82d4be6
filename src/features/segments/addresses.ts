/** Filters by `email` and `phone`, which compare addresses in the form in which they are stored, not as they are typed. */
import {
  emailKeys,
  emailParts,
  phoneKeys,
  phonePattern,
  type PartPosition,
} from '../../delivery/terms/addresses/search-keys.ts';
import type { ColumnName, Predicate, Test } from './language.ts';
import { type Path, readMany, readPart, readText, type ReadValue, type Report } from './values.ts';

const readers = { email: emailKeys, phone: phoneKeys };
export type AddressColumn = keyof typeof readers;

export const isAddress = (column: ColumnName | null): column is AddressColumn =>
  column !== null && Object.hasOwn(readers, column);

/**
 * How many keys one filter may compare with. A phone number without a country code means hundreds, and a list of them
 * would take seconds to read.
 */
const MAX_KEYS = 10_000;
const TOO_MANY =
  'has too many phone numbers without a country code; write them with it, such as +49 30 123456';

const partPositions: Partial<Record<Predicate, PartPosition>> = {
  cont: 'contains',
  not_cont: 'contains',
  start: 'starts',
  end: 'ends',
};

interface Reading {
  column: AddressColumn;
  predicate: Predicate;
  value: unknown;
  path: Path;
  report: Report;
  /** Whether a text that is no address is a problem. It matches no contact, so filters that are stored may have it. */
  strict: boolean;
}

function equalTest({ column, predicate, value, path, report, strict }: Reading): Test[] | undefined {
  const read: ReadValue<readonly string[]> = (one, at) => {
    const text = readText(one, at, report);
    if (text === undefined) return undefined;
    const keys = readers[column](text);
    if (!('error' in keys)) return keys;
    return strict ? void report(at, keys.error) : [];
  };
  const keys = readMany(predicate === 'in' || predicate === 'not_in', read)(value, path, report);
  const all = keys && [...new Set(keys.flat())];
  if (all && strict && all.length > MAX_KEYS) return void report(path, TOO_MANY);
  return all && [{ type: 'address', match: 'equal', keys: all }];
}

function partTest(
  { column, value, path, report, strict }: Reading,
  position: PartPosition,
): Test[] | undefined {
  const part = readPart(value, path, report);
  if (part === undefined) return undefined;
  if (column === 'email') {
    const parts = emailParts(part);
    if (parts.length === 0 && strict) return void report(path, 'must have more than spaces');
    return [{ type: 'address', match: position, parts }];
  }
  const pattern = phonePattern(part, position);
  if (pattern !== null) return [{ type: 'address', match: 'pattern', pattern }];
  return strict
    ? void report(path, 'is not a part of a phone number')
    : [{ type: 'address', match: 'equal', keys: [] }];
}

/** Returns the tests of a filter by an address; null if its predicate does not compare; undefined after a report. */
export function addressTests(reading: Reading): Test[] | null | undefined {
  const { predicate } = reading;
  const position = partPositions[predicate];
  if (position) return partTest(reading, position);
  return ['eq', 'not_eq', 'in', 'not_in'].includes(predicate) ? equalTest(reading) : null;
}
