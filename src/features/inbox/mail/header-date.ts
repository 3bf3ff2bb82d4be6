/**
 * Forms of the Date field, which mail programs write in many ways:
 *
 * - RFC 5322, section 3.3: `Fri, 27 Nov 2026 10:00:00 +0100 (CET)`, with or without the day of the week and seconds
 * - its section 4.3: years of two or three digits, zones with names
 * - `27-Nov-2026`, without a zone, `GMT+0100`, `+01:00`
 * - asctime, of `date` and old cron jobs: `Fri Nov 27 10:00:00 CET 2026`
 * - everything else that Carillon reads as a time, such as ISO 8601 of devices, or `November 27, 2026 1:00 PM`
 */
import { timeIn } from '../../../platform/input/times.ts';

const MONTHS = 'janfebmaraprmayjunjulaugsepoctnovdec';
const TIME = String.raw`(?<hour>\d{1,2})[:.](?<minute>\d{2})(?:[:.](?<second>\d{2}))?(?:[.,]\d{1,9})?`;
/** `PM` is no zone. */
const ZONE = String.raw`(?<zone>(?:(?![ap]m)[a-z]{1,5})?(?:[+-]\d{1,2}(?::?\d{2})?)?)(?:\s+(?![ap]m$)[a-z]{2,5})?`;

const forms = [
  new RegExp(
    String.raw`^(?:[^\d\s,]{2,12}\.?\s*[,\s]\s*)?(?<day>\d{1,2})[\s-]+(?<month>[a-z]{3})[a-z]{0,6}\.?[\s,-]+(?<year>\d{2,4}),?\s+${TIME}\s*${ZONE}$`,
    'i',
  ),
  new RegExp(
    String.raw`^(?:[a-z]{3},?\s+)?(?<month>[a-z]{3})\s+(?<day>\d{1,2})\s+${TIME}\s+(?:${ZONE}\s+)?(?<year>\d{4})$`,
    'i',
  ),
];

/** Hours, of RFC 5322, section 4.3, and of Europe. Any other name, as the RFC says, is UTC. */
const ZONES: Record<string, number> = {
  ...{ est: -5, edt: -4, cst: -6, cdt: -5, mst: -7, mdt: -6, pst: -8, pdt: -7 },
  ...{ bst: 1, cet: 1, cest: 2, met: 1, mest: 2, eet: 2, eest: 3, msk: 3, jst: 9 },
};

const MAX_LENGTH = 200;
const MINUTE_MS = 60_000;
const MAX_OFFSET_MINUTES = 24 * 60;

/** Minutes east of UTC. */
function offsetOf(zone: string): number {
  const [, name = '', sign, digits = ''] = /^([a-z]*)(?:([+-])([\d:]+))?$/i.exec(zone) ?? [];
  if (sign === undefined) return (ZONES[name.toLowerCase()] ?? 0) * 60;
  const number = Number(digits.replace(':', ''));
  const minutes = digits.length <= 2 ? number * 60 : Math.floor(number / 100) * 60 + (number % 100);
  return sign === '-' ? -minutes : minutes;
}

/** RFC 5322, section 4.3: the years of two digits are 1950 to 2049; 1900 is added to three digits. */
function yearOf(digits: string): number {
  const year = Number(digits);
  if (digits.length === 4) return year;
  return digits.length === 2 && year < 50 ? 2000 + year : 1900 + year;
}

/** Reads the groups of a form. @returns null if there is no such moment */
function momentOf(groups: Record<string, string | undefined>): Date | null {
  const { year = '', month = '', day, hour, minute, second = '0', zone = '' } = groups;
  const index = MONTHS.indexOf(month.toLowerCase()) / 3;
  const numbers = [yearOf(year), index, Number(day), Number(hour), Number(minute)] as const;
  if (!Number.isInteger(index) || index < 0 || numbers[3] > 23 || numbers[4] > 59) return null;
  // A leap second is the first second of the next minute.
  const local = Date.UTC(...numbers, Math.min(Number(second), 60));
  const offset = offsetOf(zone);
  const isDay = new Date(Date.UTC(numbers[0], index, numbers[2])).getUTCDate() === numbers[2];
  return isDay && Math.abs(offset) <= MAX_OFFSET_MINUTES ? new Date(local - offset * MINUTE_MS) : null;
}

/**
 * Reads the Date field of a mail.
 * @returns null if it is none of these forms, or no such moment exists between 1970 and 9999
 */
export function readDate(value: string): Date | null {
  if (value.length > MAX_LENGTH) return null;
  const text = value
    .replace(/\([^()]*\)/g, ' ')
    .replaceAll('"', ' ')
    .trim();
  const groups = forms.map((form) => form.exec(text)?.groups).find((found) => found !== undefined);
  const date = groups ? momentOf(groups) : timeIn(text, 'UTC');
  return date !== null && date.getTime() >= 0 && date.getTime() <= Date.UTC(9_999, 11, 31) ? date : null;
}
