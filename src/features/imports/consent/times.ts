/** Reads the times of opt-ins and opt-outs. */

const ISO =
  /^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?)?\s*(?:Z|UTC|GMT|([+-]\d{2}):?(\d{2})?)?$/i;
const COMPACT = /^(\d{4})(\d{2})(\d{2})T?(\d{2})(\d{2})(\d{2})Z?$/;
const DAY_FIRST = /^(\d{1,2})\.(\d{1,2})\.(\d{4})(?:[ ,T]+(\d{1,2}):(\d{2})(?::(\d{2}))?)?$/;
const SLASHES = /^\d{1,2}[/-]\d{1,2}[/-]\d{2,4}(?:[ ,T]+\d{1,2}:\d{2}(?::\d{2})?\s*(?:am|pm)?)?$/i;
const MONTH_NAME =
  /^(?=.*\d{4})(?=.*\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b)[\p{L}\d ,.:+-]+$/iu;
const EPOCH = /^1\d{9}(?:\d{3})?$/;
const ZONE = /(?:utc|gmt|z|[+-]\d{2}:?\d{2})$/i;

type Part = string | undefined;

function utc(date: readonly Part[], time: readonly Part[]): Date | null {
  const [year = 0, month = 1, day = 1] = date.map(Number);
  const [hours = 0, minutes = 0, seconds = 0] = time.map((part) => Number(part ?? 0));
  const at = new Date(Date.UTC(year, month - 1, day, hours, minutes, seconds));
  return at.getUTCMonth() === month - 1 && at.getUTCDate() === day ? at : null;
}

function fromIso([, year, month, day, hours, minutes, seconds, zone = '+00', rest = '0']: RegExpExecArray) {
  const at = utc([year, month, day], [hours, minutes, seconds]);
  const offset = Number(zone) * 60 + (zone.startsWith('-') ? -1 : 1) * Number(rest);
  return at && new Date(at.getTime() - offset * 60_000);
}

function fromWords(text: string): Date | null {
  const at = Date.parse(ZONE.test(text) ? text : `${text} UTC`);
  return Number.isNaN(at) ? null : new Date(at);
}

/**
 * Reads a time in one of the usual forms, in UTC where it names no zone.
 * @returns undefined if the text is none; null if it is one that can mean several days
 */
export function readTime(given: string): Date | null | undefined {
  const text = given.trim();
  if (EPOCH.test(text)) return new Date(Number(text) * (text.length === 10 ? 1_000 : 1));
  const iso = ISO.exec(text);
  if (iso) return fromIso(iso);
  const compact = COMPACT.exec(text);
  if (compact) return utc(compact.slice(1, 4), compact.slice(4));
  const dots = DAY_FIRST.exec(text);
  if (dots) return utc([dots[3], dots[2], dots[1]], dots.slice(4, 7));
  if (SLASHES.test(text)) return null;
  return MONTH_NAME.test(text) ? fromWords(text) : undefined;
}
