/** Local times of waits and quiet hours. Time zones are IANA names, and their rules come from Intl. */
import { countryZones } from '../../../delivery/terms/addresses/country-zones.ts';
import { createTimeZones } from '../../../platform/input/time-zones.ts';
import type { FieldTime, LocalTime } from '../steps/wait.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/**
 * Number of days to search for a weekday: today's time may have passed, and next week's day may be skipped by the zone.
 */
const MAX_DAYS = 15;
const timeZones = createTimeZones(1_000);

export const isTimezone = (name: string): boolean => timeZones.exists(name);

/** What the clocks of a zone show, see {@link createTimeZones}. */
function shownAt(time: Date, timezone: string): number {
  const shown = timeZones.shownAt(time.getTime(), timezone);
  if (shown === null) throw new RangeError('the time zone is unknown');
  return shown;
}

/** What a zone's clocks show. */
export interface Clock {
  /** Minutes since midnight. */
  minutes: number;
  /** 1 is Monday, 7 is Sunday. */
  weekday: number;
}

export function clockAt(time: Date, timezone: string): Clock {
  const shown = new Date(shownAt(time, timezone));
  return { minutes: 60 * shown.getUTCHours() + shown.getUTCMinutes(), weekday: shown.getUTCDay() || 7 };
}

/** The first moment at which clocks show a time, see {@link createTimeZones}. */
function firstMoment(shown: number, timezone: string): number {
  const moment = timeZones.momentAt(shown, timezone);
  if (moment === null) throw new RangeError('the time zone is unknown');
  return moment.time;
}

/** Parses `HH:MM` into minutes since midnight. */
export function minutesOf(time: string): number {
  const [hours, minutes] = time.split(':').map(Number);
  return 60 * (hours ?? 0) + (minutes ?? 0);
}

/**
 * The next moment at which the clocks of a zone show a time, on any or certain days. If the clocks skip the time, it is
 * the next minute that they show; if they show it twice, the first of both.
 * @returns a later moment than `after`
 */
export function nextLocalTime(
  after: Date,
  { time, weekdays }: Pick<LocalTime, 'time' | 'weekdays'>,
  timezone: string,
): Date {
  const midnight = Math.floor(shownAt(after, timezone) / DAY) * DAY;
  // Starts from yesterday, because a skipped time before midnight may come today.
  for (let day = -1; day <= MAX_DAYS; day += 1) {
    const date = midnight + day * DAY;
    const weekday = new Date(date).getUTCDay() || 7;
    if (weekdays && weekdays.length > 0 && !weekdays.includes(weekday)) continue;
    const moment = firstMoment(date + minutesOf(time) * MINUTE, timezone);
    if (moment > after.getTime()) return new Date(moment);
  }
  throw new RangeError('the local time never comes');
}

export const isLocalTime = (until: LocalTime | FieldTime): until is LocalTime => 'time' in until;

/**
 * The time zone of a contact: its own `data.timezone`, else that of its country, else that of the brand, else UTC.
 * @param contact `timezone` is unchecked data of the contact
 */
export function contactTimezone(
  contact: { timezone: unknown; countryCode: string | null },
  brandTimezone: string | null,
): string {
  const ofCountry = contact.countryCode === null ? null : countryZones.get(contact.countryCode.toUpperCase());
  for (const name of [contact.timezone, ofCountry, brandTimezone]) {
    if (typeof name === 'string' && isTimezone(name)) return name;
  }
  return 'UTC';
}
