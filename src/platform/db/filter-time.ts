import { z } from 'zod';

/** Valid in ISO 8601, but not in PostgreSQL: the year 0, and offsets of 16 hours or more. */
const UNREADABLE_TIME = /^0000|[+-](?:1[6-9]|2\d):?\d\d$/;
const FIRST_MS = Date.parse('0001-01-01T00:00:00Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

function isStorable(text: string): boolean {
  const time = Date.parse(text);
  return !UNREADABLE_TIME.test(text) && time >= FIRST_MS && time <= LAST_MS;
}

/**
 * A date-time from a client, in ISO 8601 with a zone. PostgreSQL can read it, even after conversion to UTC.
 * @param ofNull what is wrong with null; by default that it is no text
 */
export const timeUnlessNull = (ofNull?: string) =>
  z.iso
    .datetime({ offset: true, error: ({ input }) => (input === null ? ofNull : undefined) })
    .max(64)
    .refine(isStorable, 'must be in the years 0001 to 9999, with an offset below 16 hours');

/** As {@link timeUnlessNull}. */
export const filterTime = timeUnlessNull();
