/**
 * Forms of the Date field, which mail programs write in many ways:
 *
 * - RFC 5322, section 3.3: `Fri, 27 Nov 2026 10:00:00 +0100 (CET)`, with or without the day of the week and seconds
 * - its section 4.3: years of two or three digits, zones with names
 * - `27-Nov-2026`, without a zone, `GMT+0100`, `+01:00`
 * - asctime, of `date` and old cron jobs: `Fri Nov 27 10:00:00 CET 2026`
 * - ISO 8601, of devices: `2026-11-27T10:00:00.5Z`
 */
const MONTHS = 'janfebmaraprmayjunjulaugsepoctnovdec';
const TIME = String.raw`(?<hour>\d{1,2})[:.](?<minute>\d{2})(?:[:.](?<second>\d{2}))?(?:[.,]\d{1,9})?`;
const ZONE = String.raw`(?<zone>(?:[a-z]{1,5})?(?:[+-]\d{1,2}:?\d{2})?)`;

const forms = [
  new RegExp(
    String.raw`^(?:[^\d\s,]{2,12}\.?[,\s]\s*)?(?<day>\d{1,2})[\s-]+(?<month>[a-z]{3})[a-z]{0,6}\.?[\s,-]+(?<year>\d{2,4}),?\s+${TIME}\s*${ZONE}$`,
    'i',
  ),
  new RegExp(
    String.raw`^(?:[a-z]{3},?\s+)?(?<month>[a-z]{3})\s+(?<day>\d{1,2})\s+${TIME}\s+(?:${ZONE}\s+)?(?<year>\d{4})$`,
    'i',
  ),
  new RegExp(String.raw`^(?<year>\d{4})-(?<number>\d{2})-(?<day>\d{2})[T\s]+${TIME}\s*${ZONE}$`, 'i'),
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
  return (sign === '-' ? -1 : 1) * (Math.floor(number / 100) * 60 + (number % 100));
}

/** RFC 5322, section 4.3: the years of two digits are 1950 to 2049; 1900 is added to three digits. */
function yearOf(digits: string): number {
  const year = Number(digits);
  if (digits.length === 4) return year;
  return digits.length === 2 && year < 50 ? 2000 + year : 1900 + year;
}

/**
 * Reads the Date field of a mail.
 * @returns null if it is none of these forms, or no such moment exists between 1970 and 9999
 */
export function readDate(value: string): Date | null {
  if (value.length > MAX_LENGTH) return null;
  const text = value.replace(/\([^()]*\)/g, ' ').trim();
  const found = forms.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined);
  if (!found) return null;
  const { year = '', month, number, day, hour, minute, second = '0', zone = '' } = found;
  const index = month === undefined ? Number(number) - 1 : MONTHS.indexOf(month.toLowerCase()) / 3;
  const numbers = [yearOf(year), index, Number(day), Number(hour), Number(minute)] as const;
  if (!Number.isInteger(index) || index < 0 || numbers[3] > 23 || numbers[4] > 59) return null;
  // A leap second is the first second of the next minute.
  const local = Date.UTC(...numbers, Math.min(Number(second), 60));
  const offset = offsetOf(zone);
  const isDay = new Date(Date.UTC(numbers[0], index, numbers[2])).getUTCDate() === numbers[2];
  const time = local - offset * MINUTE_MS;
  if (!isDay || Math.abs(offset) > MAX_OFFSET_MINUTES || time < 0 || time > Date.UTC(9_999, 11, 31))
    return null;
  return new Date(time);
}
