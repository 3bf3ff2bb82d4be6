/**
 * What counts as a number or a time in `data`. `sql.ts` and `memory.ts` share the patterns: PostgreSQL can cast a text
 * that matches without an error, and JavaScript without loss.
 */

/** Maximum number of characters of a number: a double could not represent more digits exactly. */
export const MAX_NUMBER_LENGTH = 15;
export const NUMBER_PATTERN = '^-?[0-9]+([.][0-9]+)?$';

const LEAP_YEAR = '[12][0-9](0[48]|[2468][048]|[13579][26])|(12|16|20|24|28)00';
const DAY =
  '([12][0-9]{3}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))' +
  `|(${LEAP_YEAR})-02-29)`;
const CLOCK = '([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?';
const ZONE = '(Z|[+-](0[0-9]|1[0-4]):[0-5][0-9])';

/** A day in ISO 8601, of the years 1000 to 2999. It means midnight in UTC. */
export const DAY_PATTERN = `^${DAY}$`;
/** A date-time in ISO 8601 with its zone. */
export const TIME_PATTERN = `^${DAY}T${CLOCK}${ZONE}$`;

const number = new RegExp(NUMBER_PATTERN);
const day = new RegExp(DAY_PATTERN);
const time = new RegExp(TIME_PATTERN);

/** @returns null if the JSON value is neither a number nor a text that looks like one */
export function numberOf(value: unknown): number | null {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string' || value.length > MAX_NUMBER_LENGTH || !number.test(value)) return null;
  return Number(value);
}

/** @returns the time, to the millisecond; null if the JSON value is neither a day nor a date-time */
export function timeOf(value: unknown): Date | null {
  if (typeof value !== 'string') return null;
  if (day.test(value)) return new Date(`${value}T00:00:00Z`);
  return time.test(value) ? new Date(value) : null;
}

/** @returns null if the JSON value is neither a boolean nor the text `true` or `false` */
export function booleanOf(value: unknown): boolean | null {
  if (value === true || value === 'true') return true;
  return value === false || value === 'false' ? false : null;
}
