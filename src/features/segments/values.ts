import { MAX_ID } from '../../platform/db/paging.ts';
import { exactTimeOf } from './json-values.ts';
import {
  type Comparison,
  type Order,
  type Period,
  periodUnits,
  STEP_REF,
  type StepName,
} from './language.ts';

/** Maximum number of items in one array, such as the value of `in`. */
export const MAX_ITEMS = 500;
/** Maximum number of characters of one text. */
export const MAX_TEXT = 1_000;
const MAX_PERIOD_YEARS = 100;
const MAX_AT_LEAST = 10_000;

const MINUTES = { minutes: 1, hours: 60, days: 1_440, weeks: 10_080, months: 43_800, years: 525_600 };

/** The path of a part of a filter: `['value', 0]`. */
export type Path = readonly (string | number)[];

/** Receives an error in a part of a filter. */
export type Report = (path: Path, message: string) => void;

/** Reads one value. @returns undefined after a report */
export type ReadValue<T> = (value: unknown, path: Path, report: Report) => T | undefined;

export const readText: ReadValue<string> = (value, path, report) => {
  if (typeof value !== 'string') return void report(path, 'must be a string');
  if (value.length > MAX_TEXT) return void report(path, `must have at most ${MAX_TEXT} characters`);
  return value;
};

/** Reads a part of a text. An empty one would match every text. */
export const readPart: ReadValue<string> = (value, path, report) => {
  const text = readText(value, path, report);
  if (text === '') return void report(path, 'must not be empty');
  return text;
};

export const readNumber: ReadValue<number> = (value, path, report) =>
  typeof value === 'number' && Number.isFinite(value) ? value : void report(path, 'must be a number');

export const readId: ReadValue<number> = (value, path, report) =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_ID
    ? (value as number)
    : void report(path, `must be an integer from 1 to ${MAX_ID}`);

export const readBoolean: ReadValue<boolean> = (value, path, report) =>
  typeof value === 'boolean' ? value : void report(path, 'must be true or false');

export const readTime: ReadValue<Date> = (value, path, report) =>
  exactTimeOf(value) ??
  void report(path, 'must be an ISO 8601 date, or a date-time with its zone, such as 2026-01-31T09:30:00Z');

export const readScalar: ReadValue<string | number | boolean> = (value, path, report) => {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'string') return readText(value, path, report);
  return readNumber(value, path, (at) => report(at, 'must be a string, a number, true or false'));
};

/** Reads a number, or a time if a string is given. */
export const readOrdered: ReadValue<number | Date> = (value, path, report) => {
  if (typeof value === 'number') return readNumber(value, path, report);
  return readTime(value, path, (at) => report(at, 'must be a number, or an ISO 8601 date or date-time'));
};

export function readOneOf(values: readonly string[]): ReadValue<string> {
  return (value, path, report) =>
    values.includes(value as string)
      ? (value as string)
      : void report(path, `must be one of ${values.join(', ')}`);
}

/** Reads one value, or the array of an `in`. */
export function readMany<T>(isArray: boolean, read: ReadValue<T>, maxItems = MAX_ITEMS): ReadValue<T[]> {
  return (value, path, report) => {
    if (!isArray) {
      const one = read(value, path, report);
      return one === undefined ? undefined : [one];
    }
    if (!Array.isArray(value)) return void report(path, 'must be an array');
    if (value.length === 0) return void report(path, 'must not be empty');
    if (value.length > maxItems) return void report(path, `must have at most ${maxItems} items`);
    const items = value.map((item: unknown, index) => read(item, [...path, index], report));
    return items.some((item) => item === undefined) ? undefined : (items as T[]);
  };
}

function readRange<T extends number | Date>(
  value: unknown,
  path: Path,
  read: ReadValue<T>,
  report: Report,
): { order: 'between'; low: T; high: T } | undefined {
  if (!Array.isArray(value) || value.length !== 2) {
    return void report(path, 'must be an array of two values, the lower first');
  }
  const low = read(value[0], [...path, 0], report);
  const high = read(value[1], [...path, 1], report);
  if (low === undefined || high === undefined) return undefined;
  if (typeof low !== typeof high) return void report([...path, 1], 'must be of the same kind as the first');
  if (low > high) return void report([...path, 1], 'must not be lower than the first');
  return { order: 'between', low, high };
}

/** Reads the value of `gt`, `gteq`, `lt`, `lteq` or `between`. */
export function readComparison<T extends number | Date>(
  order: Order | 'between',
  read: ReadValue<T>,
): ReadValue<Comparison<T>> {
  return (value, path, report) => {
    if (order === 'between') return readRange(value, path, read, report);
    const bound = read(value, path, report);
    return bound === undefined ? undefined : { order, value: bound };
  };
}

type Fields = Record<string, unknown>;

/** @returns undefined after a report, also if there are unknown fields */
function readFields(value: unknown, known: string[], path: Path, report: Report): Fields | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return void report(path, `must be an object with ${known.join(' and ')}`);
  }
  const unknown = Object.keys(value).filter((name) => !known.includes(name));
  for (const name of unknown.slice(0, 10)) {
    report([...path, name], `is not a known field; the known fields are ${known.join(' and ')}`);
  }
  return unknown.length > 0 ? undefined : (value as Fields);
}

/** Reads `{"count": 30, "unit": "days"}`. */
export const readPeriod: ReadValue<Period> = (value, path, report) => {
  const fields = readFields(value, ['count', 'unit'], path, report);
  if (!fields) return undefined;
  const { count } = fields;
  const unit = periodUnits.find((known) => known === fields.unit);
  if (!unit) report([...path, 'unit'], `must be one of ${periodUnits.join(', ')}`);
  if (typeof count !== 'number' || !Number.isInteger(count) || count < 1) {
    return void report([...path, 'count'], 'must be an integer of at least 1');
  }
  if (!unit) return undefined;
  if (count * MINUTES[unit] > MAX_PERIOD_YEARS * MINUTES.years) {
    return void report([...path, 'count'], `must be at most ${MAX_PERIOD_YEARS} years`);
  }
  return { count, unit };
};

/** Reads an optional period. @returns null if it is left out; undefined after a report */
const readWithin = ({ within = null }: Fields, path: Path, report: Report) =>
  within === null ? null : readPeriod(within, [...path, 'within'], report);

/** Reads the value of `did` and `did_not`, which may be left out: `{"at_least": 2, "within": {…}}`. */
export const readHowOften: ReadValue<{ atLeast: number; within: Period | null }> = (value, path, report) => {
  const fields = readFields(value ?? {}, ['at_least', 'within'], path, report);
  if (!fields) return undefined;
  const atLeast = fields.at_least ?? 1;
  const within = readWithin(fields, path, report);
  if (typeof atLeast !== 'number' || !Number.isInteger(atLeast) || atLeast < 1 || atLeast > MAX_AT_LEAST) {
    return void report([...path, 'at_least'], `must be an integer from 1 to ${MAX_AT_LEAST}`);
  }
  return within === undefined ? undefined : { atLeast, within };
};

/** Reads a condition on the mail of a campaign, of which a contact gets one: `{"campaign_id": 42, "within": {…}}`. */
export const readCampaignEngagement: ReadValue<{ campaignId: number; within: Period | null }> = (
  value,
  path,
  report,
) => {
  const fields = readFields(value, ['campaign_id', 'within'], path, report);
  if (!fields) return undefined;
  const campaignId = readId(fields.campaign_id, [...path, 'campaign_id'], report);
  const within = readWithin(fields, path, report);
  return campaignId === undefined || within === undefined ? undefined : { campaignId, within };
};

const readStepName: ReadValue<StepName> = (value, path, report) => {
  if (typeof value !== 'string') return readId(value, path, report);
  return STEP_REF.test(value) ? value : void report(path, 'must be the id or the ref of a step');
};

/** Reads a condition on the message of a step: `{"step": 3, "within": {…}}`. */
export const readStepEngagement: ReadValue<{ step: StepName; within: Period | null }> = (
  value,
  path,
  report,
) => {
  const fields = readFields(value, ['step', 'within'], path, report);
  if (!fields) return undefined;
  const step = readStepName(fields.step, [...path, 'step'], report);
  const within = readWithin(fields, path, report);
  return step === undefined || within === undefined ? undefined : { step, within };
};

/** Checks that a predicate without a value has none. Clients may send null or true. */
export const readNothing: ReadValue<true> = (value, path, report) =>
  value === undefined || value === null || value === true ? true : void report(path, 'must be left out');
