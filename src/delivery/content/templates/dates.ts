/**
 * The Liquid filter `date`. Independent of the time zone of the process: a time is shown in UTC unless the template
 * names a zone. A value without a zone, such as `2026-03-01`, is never converted.
 */
import { createTimeZones } from '../../../platform/input/time-zones.ts';
import { readTime } from '../../../platform/input/times.ts';

const MAX_FORMAT_LENGTH = 500;
const MAX_WIDTH = 50;

interface ZonedTime {
  /** The local time in the zone, stored as if it were UTC. */
  local: Date;
  offsetMinutes: number;
  zone: string;
}

const dayNames = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const monthNames = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

const timeZones = createTimeZones(100);

const isUtc = (zone: string) => zone === 'UTC' || zone === 'Etc/UTC' || zone === 'GMT';

function zonedTime(time: number, zone: string): ZonedTime {
  // Unknown zones are shown in UTC.
  const shown = isUtc(zone) ? null : timeZones.shownAt(time, zone);
  if (shown === null) return { local: new Date(time), offsetMinutes: 0, zone: 'UTC' };
  const local = shown + (((time % 1_000) + 1_000) % 1_000);
  return { local: new Date(local), offsetMinutes: Math.round((local - time) / 60_000), zone };
}

/** Reads a value of a template. @returns null if it is not a time */
function timeOf(value: unknown, now: number): { time: number; zoned: boolean } | null {
  if (value instanceof Date) return { time: value.getTime(), zoned: true };
  const text = typeof value === 'string' ? value.trim() : value;
  if (text === 'now' || text === 'today') return { time: now, zoned: true };
  const read = readTime(text);
  return read && { time: read.ms, zoned: read.kind === 'zoned' };
}

const pad = (value: number, width: number, filler: string) =>
  value < 0 ? `-${String(-value).padStart(width - 1, filler)}` : String(value).padStart(width, filler);

function dayOfYear(date: Date): number {
  return Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / 86_400_000) + 1;
}

/** @returns the week of the year, 0 to 53 @param firstDay 0: weeks begin on Sunday; 1: on Monday */
function weekOfYear(date: Date, firstDay: number): number {
  return Math.floor((dayOfYear(date) + 6 - ((date.getUTCDay() + 7 - firstDay) % 7)) / 7);
}

/** The ISO 8601 year and week. */
function isoWeek(date: Date): [year: number, week: number] {
  const thursday = new Date(date.getTime() + (3 - ((date.getUTCDay() + 6) % 7)) * 86_400_000);
  return [thursday.getUTCFullYear(), Math.floor((dayOfYear(thursday) - 1) / 7) + 1];
}

function offsetText(minutes: number, colon: string): string {
  const [sign, size] = minutes < 0 ? ['-', -minutes] : ['+', minutes];
  return `${sign}${pad(Math.floor(size / 60), 2, '0')}${colon}${pad(size % 60, 2, '0')}`;
}

type Field = (moment: ZonedTime) => number | string;
interface Conversion {
  field: Field;
  width: number;
  filler: string;
}
const numeric = (field: (date: Date) => number, width = 2, filler = '0'): Conversion => ({
  field: ({ local }) => field(local),
  width,
  filler,
});
const text = (field: Field): Conversion => ({ field, width: 0, filler: ' ' });
const hour12 = (date: Date) => date.getUTCHours() % 12 || 12;
const named = (names: string[], index: (date: Date) => number, length?: number) =>
  text(({ local }) => (names[index(local)] ?? '').slice(0, length));
const composed = (format: string) => text((moment) => inFormat(moment, format));

/** The conversions of Ruby's strftime, which Liquid uses. */
const conversions: Record<string, Conversion> = {
  Y: numeric((date) => date.getUTCFullYear(), 4),
  C: numeric((date) => Math.floor(date.getUTCFullYear() / 100)),
  y: numeric((date) => date.getUTCFullYear() % 100),
  m: numeric((date) => date.getUTCMonth() + 1),
  B: named(monthNames, (date) => date.getUTCMonth()),
  b: named(monthNames, (date) => date.getUTCMonth(), 3),
  h: named(monthNames, (date) => date.getUTCMonth(), 3),
  d: numeric((date) => date.getUTCDate()),
  e: numeric((date) => date.getUTCDate(), 2, ' '),
  j: numeric(dayOfYear, 3),
  H: numeric((date) => date.getUTCHours()),
  k: numeric((date) => date.getUTCHours(), 2, ' '),
  I: numeric(hour12),
  l: numeric(hour12, 2, ' '),
  M: numeric((date) => date.getUTCMinutes()),
  S: numeric((date) => date.getUTCSeconds()),
  L: numeric((date) => date.getUTCMilliseconds(), 3),
  N: text(({ local }) => `${pad(local.getUTCMilliseconds(), 3, '0')}000000`),
  p: text(({ local }) => (local.getUTCHours() < 12 ? 'AM' : 'PM')),
  P: text(({ local }) => (local.getUTCHours() < 12 ? 'am' : 'pm')),
  A: named(dayNames, (date) => date.getUTCDay()),
  a: named(dayNames, (date) => date.getUTCDay(), 3),
  u: numeric((date) => date.getUTCDay() || 7, 1),
  w: numeric((date) => date.getUTCDay(), 1),
  U: numeric((date) => weekOfYear(date, 0)),
  W: numeric((date) => weekOfYear(date, 1)),
  V: numeric((date) => isoWeek(date)[1]),
  G: numeric((date) => isoWeek(date)[0], 4),
  s: text(({ local, offsetMinutes }) => Math.floor(local.getTime() / 1_000) - offsetMinutes * 60),
  q: text(({ local }) => {
    const day = local.getUTCDate();
    if (day > 10 && day < 14) return 'th';
    return ['th', 'st', 'nd', 'rd'][day % 10] ?? 'th';
  }),
  z: text(({ offsetMinutes }) => offsetText(offsetMinutes, '')),
  Z: text(({ zone }) => zone),
  c: composed('%a %b %e %H:%M:%S %Y'),
  D: composed('%m/%d/%y'),
  x: composed('%m/%d/%y'),
  F: composed('%Y-%m-%d'),
  R: composed('%H:%M'),
  r: composed('%I:%M:%S %p'),
  T: composed('%H:%M:%S'),
  X: composed('%H:%M:%S'),
  n: text(() => '\n'),
  t: text(() => '\t'),
  '%': text(() => '%'),
};

function inFormat(moment: ZonedTime, format: string): string {
  return format.replace(
    /%([-_0^#:]*)(\d{0,3})([a-zA-Z%])/g,
    (whole, flags: string, width: string, letter: string) => {
      if (letter === 'z' && flags.includes(':')) return offsetText(moment.offsetMinutes, ':');
      const conversion = Object.hasOwn(conversions, letter) ? conversions[letter] : undefined;
      if (!conversion) return whole;
      const value = conversion.field(moment);
      const filler = flags.includes('_') ? ' ' : flags.includes('0') ? '0' : conversion.filler;
      const length = flags.includes('-')
        ? 0
        : Math.min(width === '' ? conversion.width : Number(width), MAX_WIDTH);
      const shown = typeof value === 'number' ? pad(value, length, filler) : value.padStart(length, filler);
      return flags.includes('^') ? shown.toUpperCase() : shown;
    },
  );
}

const DEFAULT_FORMAT = '%A, %B %-e, %Y at %-l:%M %P %z';

/**
 * @param value a time in one of the forms of `platform/input/times.ts`, `now` or `today`
 * @param format for strftime; empty: date and time in words
 * @param zone an IANA name such as `Europe/Berlin`; unknown names mean UTC
 * @param now milliseconds since 1970
 * @returns undefined if the value is not a time
 */
export function formatDate(value: unknown, format: string, zone: string, now: number): string | undefined {
  const read = timeOf(value, now);
  // Beyond these years, Date and Intl disagree about calendars.
  if (!read || !(read.time > -62_000_000_000_000 && read.time < 253_402_300_800_000)) return undefined;
  const moment = read.zoned
    ? zonedTime(read.time, zone)
    : {
        local: new Date(read.time),
        offsetMinutes: zonedTime(read.time, zone).offsetMinutes,
        zone: timeZones.exists(zone) ? zone : 'UTC',
      };
  return inFormat(moment, (format || DEFAULT_FORMAT).slice(0, MAX_FORMAT_LENGTH));
}
