/** The times of opt-ins and opt-outs, in the forms of `platform/input/times.ts` and a few more. */
import { timeIn } from '../../../platform/input/times.ts';

/** `2024.1.31`, and `31.1.2024`: with dots, the day is first in all countries. */
const YEAR_FIRST = /^(\d{4})\.(\d{1,2})\.(\d{1,2})(?=[ ,T]|$),?/;
const DAY_FIRST = /^(\d{1,2})\.(\d{1,2})\.(\d{4})(?=[ ,T]|$),?/;
/** `20240131120000`, as in dumps of MySQL. */
const COMPACT = /^(\d{8})T?(\d{6})(?=Z?$)/;
/**
 * What is a time, although its day is unknown: `01/02/2024` means two days, and names of months are in many languages.
 * It still shows that the person opted in or out.
 */
const SOME_TIME =
  /^\d{1,4}[/-]\d{1,2}[/-]\d{2,4}(?:[ ,T]+\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\s*(?:[ap]\.?m\.?)?)?$|^(?=.*\d{4})(?=.*\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b)[\p{L}\d ,.:+-]+$/iu;

/**
 * Reads a time.
 * @param timezone of times that name none: an IANA name
 * @returns undefined if the text is none; null if it is one whose day is not known
 */
export function readConsentTime(given: string, timezone: string): Date | null | undefined {
  const text = given
    .trim()
    .replace(YEAR_FIRST, '$1-$2-$3')
    .replace(DAY_FIRST, '$3-$2-$1')
    .replace(COMPACT, '$1T$2');
  return timeIn(text, timezone) ?? (SOME_TIME.test(text) ? null : undefined);
}
