/** What the clocks of time zones show. Zones are IANA names, and their rules come from Intl. */
import { LRUCache } from 'lru-cache';

/** Longer names are of no zone, and are not cached. */
const MAX_NAME = 64;

function formatOf(zone: string): Intl.DateTimeFormat | null {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      calendar: 'iso8601',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch {
    return null;
  }
}

export interface TimeZones {
  exists(zone: string): boolean;
  /**
   * What the clocks of a zone show, as the epoch ms at which a UTC clock shows the same, in whole seconds.
   * @param time epoch ms
   * @returns null if the zone does not exist
   */
  shownAt(time: number, zone: string): number | null;
  /**
   * The first moment at which the clocks of a zone show a time; if they skip it, the moment at which they are changed.
   * @param shown the epoch ms at which a UTC clock shows the time
   * @returns the moment as epoch ms, and how far the clocks are ahead of UTC then; null if the zone does not exist
   */
  momentAt(shown: number, zone: string): Moment | null;
}

interface Moment {
  time: number;
  aheadMs: number;
}

const DAY = 86_400_000;

/** @param offsetAt how far the clocks of the zone are ahead of UTC at a moment, in ms */
function firstMoment(shown: number, offsetAt: (time: number) => number): number {
  const offsets = [offsetAt(shown - DAY), offsetAt(shown + DAY)] as const;
  const moments = offsets.map((offset) => shown - offset);
  const valid = moments.filter((moment) => moment + offsetAt(moment) === shown);
  if (valid.length > 0) return Math.min(...valid);
  // The clocks change between these two moments.
  let [before, after] = [Math.min(...moments), Math.max(...moments)];
  while (after - before > 1_000) {
    const middle = Math.floor((before + after) / 2_000) * 1_000;
    if (offsetAt(middle) === offsets[0]) before = middle;
    else after = middle;
  }
  return after;
}

function shownBy(format: Intl.DateTimeFormat, time: number): number {
  const shown: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
  for (const { type, value } of format.formatToParts(time)) shown[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = shown;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

function aheadAt(format: Intl.DateTimeFormat, time: number): number {
  const whole = Math.floor(time / 1_000) * 1_000;
  return shownBy(format, whole) - whole;
}

/** @param max zones that are cached. Clients choose names of zones, so there may be any number of them. */
export function createTimeZones(max: number): TimeZones {
  const formats = new LRUCache<string, { format: Intl.DateTimeFormat | null }>({
    max,
    memoMethod: (zone) => ({ format: formatOf(zone) }),
  });
  // Imports ask for the same days again and again, and asking Intl takes long.
  const days = new LRUCache<string, { aheadMs: number | null }>({
    max: 10 * max,
    memoMethod(key) {
      const [day, zone] = key.split(' ', 2) as [string, string];
      const format = find(zone);
      const [before, after] = [-1, 2].map((more) => format && aheadAt(format, (Number(day) + more) * DAY));
      return { aheadMs: before === after ? (before ?? null) : null };
    },
  });
  const find = (zone: string) => (zone.length > MAX_NAME ? null : formats.memo(zone).format);
  return {
    exists: (zone) => find(zone) !== null,
    shownAt(time, zone) {
      const format = find(zone);
      return format && shownBy(format, time);
    },
    momentAt(shown, zone) {
      const format = find(zone);
      if (!format) return null;
      const steady = days.memo(`${Math.floor(shown / DAY)} ${zone}`).aheadMs;
      if (steady !== null) return { time: shown - steady, aheadMs: steady };
      const time = firstMoment(shown, (at) => aheadAt(format, at));
      return { time, aheadMs: aheadAt(format, time) };
    },
  };
}

const named = createTimeZones(100);

/** Whether this is the name of an IANA time zone, or another name of one, such as Asia/Kolkata. */
export const isTimeZone = (name: string): boolean => /^[a-z]/i.test(name) && named.exists(name);
