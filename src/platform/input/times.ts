/**
 * Times in texts and numbers that others wrote: values in `data`, cells of imports, and values of templates. One table of
 * forms, as patterns that PostgreSQL and JavaScript both understand, so that SQL (`time-sql.ts`) reads the same.
 *
 * Numeric dates that do not begin with the year are no form: `12-04-2022` is April in one export and December in another.
 */
import { createTimeZones } from './time-zones.ts';

/** A longer text, in bytes of UTF-8, is not a time: characters count differently in JavaScript and PostgreSQL. */
export const MAX_TIME_BYTES = 80;
const isTooLong = (text: string): boolean =>
  text.length > MAX_TIME_BYTES || Buffer.byteLength(text) > MAX_TIME_BYTES;

const LEAP_YEAR = '[12][0-9](?:0[48]|[2468][048]|[13579][26])|(?:12|16|20|24|28)00';
const YEAR = '[12][0-9]{3}';

/** A day that exists, of the years 1000 to 2999. @param zero before digits: `0` or, if it may be left out, `0?` */
const ymd = (separator: string, zero: string) => {
  const [s, d] = [separator, `${zero}[1-9]`];
  return (
    `(?:${YEAR}${s}(?:(?:${zero}[13578]|1[02])${s}(?:${d}|[12][0-9]|3[01])|(?:${zero}[469]|11)${s}(?:${d}|[12][0-9]|30)` +
    `|${zero}2${s}(?:${d}|1[0-9]|2[0-8]))|(?:${LEAP_YEAR})${s}${zero}2${s}29)`
  );
};

const LONG_MONTH = '(?:jan(?:uary)?|mar(?:ch)?|may|july?|aug(?:ust)?|oct(?:ober)?|dec(?:ember)?)[.]?';
const SHORT_MONTH = '(?:apr(?:il)?|june?|sept?(?:ember)?|nov(?:ember)?)[.]?';
const FEBRUARY = 'feb(?:ruary)?[.]?';
const SPACE = '[ \\u00a0\\u202f]';
const NTH = '(?:st|nd|rd|th)?';
const WEEKDAY = `(?:(?:mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:rs(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)[.]?,?${SPACE}+)?`;

/** A day with the name of its month. @param order joins a pattern for the month, one for the day and one for the year */
const named = (order: (month: string, day: string, year: string) => string) =>
  `(?:${order(LONG_MONTH, `(?:0?[1-9]|[12][0-9]|3[01])${NTH}`, YEAR)}|${order(SHORT_MONTH, `(?:0?[1-9]|[12][0-9]|30)${NTH}`, YEAR)}` +
  `|${order(FEBRUARY, `(?:0?[1-9]|1[0-9]|2[0-8])${NTH}`, YEAR)}|${order(FEBRUARY, `29${NTH}`, `(?:${LEAP_YEAR})`)})`;

/** `30 Jun 2027` (RFC 5322), `30-Jun-2027` (Oracle), `30/Jun/2027` (Apache), `June 30th, 2027` (United States). */
const NAMED_DAY =
  `(?:${WEEKDAY}(?:${named((month, day, year) => `${day}${SPACE}+${month},?${SPACE}+${year}`)}` +
  `|${named((month, day, year) => `${month}${SPACE}+${day}(?:,|,?${SPACE}+)${year}`)})` +
  `|${named((month, day, year) => `${day}-${month}-${year}`)}|${named((month, day, year) => `${day}/${month}/${year}`)}` +
  `|${named((month, day, year) => `${year}-${month}-${day}`)})`;

const SECONDS = '(?::[0-5][0-9](?:[.,][0-9]{1,9})?)?';
const CLOCK = `(?:(?:[01]?[0-9]|2[0-3]):[0-5][0-9]${SECONDS}|(?:0?[1-9]|1[0-2]):[0-5][0-9]${SECONDS}${SPACE}?[ap][.]?m[.]?)`;
const OFFSET = '[+-](?:0[0-9]|1[0-4])(?::?[0-5][0-9])?';
/** The zones of North America by their names in RFC 5322, section 4.3. Other abbreviations mean several zones. */
const AMERICAN = '[ECMP][SD]T';
/** Also `GMT+0200 (CEST)` of JavaScript, `+0200 CEST` and `+0300 +03` of Go, and `+02:00[Europe/Berlin]` of Java. */
const ZONE = `(?:z|(?:utc|gmt)?${OFFSET}(?: [a-z]{3,5}| [+-][0-9]{2,4})?|utc|gmt|${AMERICAN})(?:${SPACE}*[(][^()]*[)])?(?:\\[[A-Za-z0-9_+/-]+\\])?`;

const BASIC_DAY = ymd('', '0');
const BASIC_CLOCK = '(?:[01][0-9]|2[0-3])[0-5][0-9](?:[0-5][0-9](?:[.,][0-9]{1,9})?)?';
const NUMERIC_DAY = `(?:${ymd('-', '0?')}|${ymd('/', '0?')}|${ymd('[.]', '0')})`;
const GAP = `,?${SPACE}+(?:at${SPACE}+)?`;
const DATE_TIME = `(?:${NUMERIC_DAY}(?:t|${GAP})${CLOCK}|${NAMED_DAY}${GAP}${CLOCK}|${BASIC_DAY}t${BASIC_CLOCK})`;
/** `Wed Jun 30 12:00:00 2027`: asctime of C, and `date` of Unix with a zone before the year. */
const asctime = (zone: string) =>
  WEEKDAY + named((month, day, year) => `${month} +${day} ${CLOCK}${zone} ${year}`);

const ISO_DAY = ymd('-', '0');
const ISO_CLOCK = '(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,6})?)?';

/** How a text of the forms begins that are not plain, roughly. Most texts do not, and their patterns take long. */
export const BEGINNING_PATTERN =
  `^ *(?:${YEAR}(?:[-/.]|[01][0-9][0-3][0-9](?:[t ]|$))|[0-3]?[0-9]${NTH}(?:[-/]|${SPACE}+)[adfjmnos]` +
  `|(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)[a-z]*(?:[.,]|${SPACE}))`;

/** What a text says: a day, a date-time without a zone, or a time. */
export type TimeKind = 'day' | 'local' | 'zoned';

export interface TimeForm {
  kind: TimeKind;
  pattern: string;
  /** Whether it is matched with the case of its letters, and PostgreSQL can cast the text as it is. */
  plain: boolean;
}

/** The forms of texts, in the order in which they are tried: what most texts have comes first. */
export const timeForms: readonly TimeForm[] = [
  { kind: 'day', plain: true, pattern: `^${ISO_DAY}$` },
  {
    kind: 'zoned',
    plain: true,
    pattern: `^${ISO_DAY}[T ]${ISO_CLOCK} ?(?:Z|${OFFSET})$`,
  },
  { kind: 'local', plain: true, pattern: `^${ISO_DAY}[T ]${ISO_CLOCK}$` },
  { kind: 'day', plain: false, pattern: `^ *(?:${NUMERIC_DAY}|${NAMED_DAY}|${BASIC_DAY}) *$` },
  {
    kind: 'zoned',
    plain: false,
    pattern: `^ *(?:${DATE_TIME}${SPACE}*${ZONE}|${asctime(`${SPACE}+${ZONE}`)}) *$`,
  },
  { kind: 'local', plain: false, pattern: `^ *(?:${DATE_TIME}|${asctime('')}) *$` },
];

/**
 * Seconds since 1970, from 1973 to 2286, and the same times in milliseconds, also before 1970. Other numbers are not
 * times: `20260131` would be a day in 1970.
 */
export const SECONDS_PATTERN = '^-?[1-9][0-9]{8,9}([.][0-9]{1,9})?$';
export const MILLISECONDS_PATTERN = '^-?[1-9][0-9]{11,12}([.]0{1,9})?$';

/** A value that says a time. */
export interface ReadTime {
  kind: TimeKind;
  /** Milliseconds since 1970. Of a day or a local time: when clocks in UTC show it. */
  ms: number;
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const MONTH = new RegExp(MONTHS.join('|'), 'i');
const HOURS_BEHIND: Record<string, number> = { e: 5, c: 6, m: 7, p: 8 };
const MINUTE = 60_000;

/** Reads the day of a text that has one of the forms. */
function dayOf(text: string): number {
  const iso = /^ *(\d{4})(?:(\d\d)(\d\d)|[-/.](\d{1,2})[-/.](\d{1,2}))/.exec(text);
  if (iso) return Date.UTC(Number(iso[1]), Number(iso[2] ?? iso[4]) - 1, Number(iso[3] ?? iso[5]));
  const month = MONTHS.indexOf(MONTH.exec(text)?.[0].toLowerCase() ?? '');
  const day = /(?<!\d)(\d{1,2})(?![\d:])/.exec(text);
  const year = / ([12]\d{3}) *$/.exec(text) ?? /(?<!\d)([12]\d{3})(?!\d)/.exec(text);
  return Date.UTC(Number(year?.[1]), month, Number(day?.[1]));
}

const CLOCK_PARTS = /(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:[ \u00a0\u202f]?([ap])[.]?m)?/i;
const BASIC_CLOCK_PARTS = /t(\d\d)(\d\d)(?:(\d\d)(?:[.,](\d+))?)?()/i;

/** Reads the clock of a text that has one of the forms. @returns `rest`: the text after it */
function clockOf(text: string): { ms: number; rest: string } {
  const parts = (/^ *\d{8}t/i.test(text) ? BASIC_CLOCK_PARTS : CLOCK_PARTS).exec(text);
  if (!parts) throw new Error('a date-time has a clock');
  const [whole, hour, minute, second = '0', fraction = '', half] = parts;
  const hours = half ? (Number(hour) % 12) + (half.toLowerCase() === 'p' ? 12 : 0) : Number(hour);
  const inSeconds = (hours * 60 + Number(minute)) * 60 + Number(second);
  return {
    ms: inSeconds * 1_000 + Number(`${fraction}000`.slice(0, 3)),
    rest: text.slice(parts.index + whole.length),
  };
}

/** How far the zone of a text that has one of the forms is ahead of UTC, in ms. @param rest what follows the clock */
function offsetOf(rest: string): number {
  const zone = rest.replace(/[[(].*$/s, '');
  const offset = /([+-])(\d\d):?(\d\d)?/.exec(zone);
  if (offset) {
    const minutes = Number(offset[2]) * 60 + Number(offset[3] ?? 0);
    return (offset[1] === '-' ? -minutes : minutes) * MINUTE;
  }
  const [, name, half] = /([ecmp])([sd])t/i.exec(zone) ?? [];
  if (name === undefined) return 0;
  const behind = (HOURS_BEHIND[name.toLowerCase()] ?? 0) - (half?.toLowerCase() === 'd' ? 1 : 0);
  return -60 * behind * MINUTE;
}

const regexes = timeForms.map(({ kind, plain, pattern }) => ({
  kind,
  regex: new RegExp(pattern, plain ? '' : 'i'),
}));
const [seconds, milliseconds] = [new RegExp(SECONDS_PATTERN), new RegExp(MILLISECONDS_PATTERN)];

/** Reads seconds or milliseconds since 1970. */
function readEpoch(text: string): ReadTime | null {
  if (milliseconds.test(text)) return { kind: 'zoned', ms: Math.trunc(Number(text)) };
  if (!seconds.test(text)) return null;
  const [whole = '', fraction = ''] = text.split('.');
  return { kind: 'zoned', ms: Number(`${whole}${`${fraction}000`.slice(0, 3)}`) };
}

/**
 * Reads a value that is asked to be a time, as SQL does by `timeSql`.
 * @param value a text in one of the forms; or seconds or milliseconds since 1970, as a number or a text
 * @returns null if it is not a time, or its day does not exist
 */
export function readTime(value: unknown): ReadTime | null {
  if (typeof value === 'number') return readEpoch(String(value));
  if (typeof value !== 'string' || isTooLong(value) || !/\d/.test(value)) return null;
  const kind = regexes.find(({ regex }) => regex.test(value))?.kind;
  if (kind === undefined) return readEpoch(value);
  const day = dayOf(value);
  if (kind === 'day') return { kind, ms: day };
  const { ms, rest } = clockOf(value);
  return { kind, ms: day + ms - (kind === 'zoned' ? offsetOf(rest) : 0) };
}

const timeZones = createTimeZones(1_000);

/**
 * Reads a value that is asked to be a time.
 * @param zone of days and of times that name none: an IANA name. If its clocks skip the time, they are changed then; if
 *   they show it twice, it is the first
 */
export function timeIn(value: unknown, zone: string): Date | null {
  const read = readTime(value);
  if (!read) return null;
  return new Date(read.kind === 'zoned' ? read.ms : (timeZones.momentAt(read.ms, zone)?.time ?? read.ms));
}

/**
 * Completes a date-time without a zone by the offset of a zone at that time, in ISO 8601: `2027-06-30 12:00` becomes
 * `2027-06-30T12:00:00+02:00`. All other texts, days among them, are returned as they are.
 * @param zone an IANA name
 */
export function withZone(text: string, zone: string): string {
  // Cells of imports pass here, and few of them are times.
  if (text.length < 12 || text.length > MAX_TIME_BYTES || !/\d[:\d]\d\d/.test(text)) return text;
  const read = readTime(text);
  if (read?.kind !== 'local') return text;
  const { time, aheadMs } = timeZones.momentAt(read.ms, zone) ?? { time: read.ms, aheadMs: 0 };
  const minutes = Math.round(aheadMs / MINUTE);
  const shown = new Date(time + minutes * MINUTE).toISOString().replace(/(?:[.]000)?Z$/, '');
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  const two = (n: number) => String(n).padStart(2, '0');
  return `${shown}${minutes < 0 ? '-' : '+'}${two(hours)}:${two(rest)}`;
}

const MAX_SHAPE = 40;

/**
 * Describes a value that is not a time without its content, which may be personal: `12-04-2022` is `99-99-9999`, and
 * letters become `a`.
 */
export function shapeOf(value: unknown): string {
  if (typeof value === 'object') return Array.isArray(value) ? 'an array' : 'an object';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const shape = text.replaceAll(/[0-9]/g, '9').replaceAll(/\p{L}/gu, 'a');
  return shape.length > MAX_SHAPE ? `${shape.slice(0, MAX_SHAPE).toWellFormed()}…` : shape;
}
