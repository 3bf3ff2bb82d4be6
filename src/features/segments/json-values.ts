/**
 * What counts as a number or a time in `data`, for `sql.ts` and `memory.ts`: PostgreSQL can cast a text that matches a
 * pattern without an error, and JavaScript without loss.
 */
import { timeSql } from '../../platform/input/time-sql.ts';
import { timeIn } from '../../platform/input/times.ts';

/** Maximum number of characters of a number: a double could not represent more digits exactly. */
export const MAX_NUMBER_LENGTH = 15;
export const NUMBER_PATTERN = '^-?[0-9]+([.][0-9]+)?$';

const number = new RegExp(NUMBER_PATTERN);
/** An ISO 8601 date or a date-time with its zone. */
const EXACT_TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:[.]\d{1,6})?)?(?:Z|[+-]\d\d:\d\d))?$/;

/** @returns null if the JSON value is neither a number nor a text that looks like one */
export function numberOf(value: unknown): number | null {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string' || value.length > MAX_NUMBER_LENGTH || !number.test(value)) return null;
  return Number(value);
}

/** @returns the time, to the millisecond, in UTC if the JSON value names no zone; null if it is none, see `readTime` */
export const timeOf = (value: unknown): Date | null => timeIn(value, 'UTC');

/** SQL for a JSON value as {@link timeOf} reads it; its casts cannot fail. @param json SQL of a JSON value */
export const jsonTimeSql = (json: string): string => timeSql(`(${json} #>> '{}')`, `jsonb_typeof(${json})`);

/** The time that a filter compares with, which must be exact. @returns null if it is not an ISO 8601 date or time */
export const exactTimeOf = (value: unknown): Date | null =>
  typeof value === 'string' && EXACT_TIME.test(value) ? timeOf(value) : null;

/** @returns null if the JSON value is neither a boolean nor the text `true` or `false` */
export function booleanOf(value: unknown): boolean | null {
  if (value === true || value === 'true') return true;
  return value === false || value === 'false' ? false : null;
}
