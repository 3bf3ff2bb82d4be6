/** Divides a period into hours or days by the clocks of a time zone. Times are epoch ms. */
import { createTimeZones } from '../../platform/input/time-zones.ts';

export const QUARTER_MS = 15 * 60_000;
export const HOUR_MS = 60 * 60_000;
export const DAY_MS = 24 * HOUR_MS;

const timeZones = createTimeZones(100);

/** What the clocks of a zone show, as if it were UTC. */
function shownAt(time: number, zone: string): number {
  return timeZones.shownAt(time, zone) ?? time;
}

/** What the clocks of a zone are ahead of UTC. */
const offsetOf = (time: number, zone: string) => shownAt(time, zone) - time;

/**
 * Finds when a day begins: the first moment at which clocks show its midnight. If they skip midnight, the day begins when
 * they are changed. If they show midnight twice, it begins at the first one.
 * @param midnight the day's midnight, as if the zone were UTC
 * @param offsetAt what the clocks of the zone are ahead of UTC at a time
 */
export function dayStart(
  midnight: number,
  zone: string,
  offsetAt = (time: number) => offsetOf(time, zone),
): number {
  // No clock is more than 26 hours from another, and changes are months apart, so this finds both possible offsets.
  const [before, after] = [offsetAt(midnight - DAY_MS), offsetAt(midnight + DAY_MS)];
  const earliest = midnight - Math.max(before, after);
  const latest = midnight - Math.min(before, after);
  if (earliest === latest) return earliest;
  for (const time of [earliest, latest]) if (shownAt(time, zone) === midnight) return time;
  let time = earliest;
  while (time < latest && shownAt(time, zone) < midnight) time += QUARTER_MS;
  return time;
}

/** The midnight, as if the zone were UTC, of the day that clocks show. */
const midnightOf = (shown: number) => Math.floor(shown / DAY_MS) * DAY_MS;

/** When the days begin that overlap the period. */
function dayStarts(from: number, to: number, zone: string): number[] {
  const starts: number[] = [];
  // Each offset is of use for two days, and finding one takes microseconds: a year has many.
  const offsets = new Map<number, number>();
  const offsetAt = (time: number) => {
    const known = offsets.get(time) ?? offsetOf(time, zone);
    offsets.set(time, known);
    return known;
  };
  for (let midnight = midnightOf(shownAt(from, zone)); ; midnight += DAY_MS) {
    const start = dayStart(midnight, zone, offsetAt);
    if (start >= to) return starts;
    // A day that a zone skipped begins when the next one does.
    if (start !== starts.at(-1)) starts.push(start);
  }
}

/** When clocks show a full hour. If they are changed by half an hour, an hour is shorter or longer. */
function hourStarts(from: number, to: number, zone: string): number[] {
  const isFull = (time: number) => shownAt(time, zone) % HOUR_MS === 0;
  const starts = [from];
  let time = from - (((shownAt(from, zone) % HOUR_MS) + HOUR_MS) % HOUR_MS) + HOUR_MS;
  while (time < to) {
    while (!isFull(time)) time += QUARTER_MS;
    if (time < to) starts.push(time);
    time += HOUR_MS;
  }
  return starts;
}

/**
 * Returns when the points of a series begin. The first begins with the period, even within an hour or a day.
 * @param from the beginning of a quarter of an hour, as `to`, which is later
 */
export function pointStarts(from: number, to: number, interval: 'hour' | 'day', zone: string): number[] {
  if (interval === 'hour') return hourStarts(from, to, zone);
  return [from, ...dayStarts(from, to, zone).filter((start) => start > from)];
}

/** The beginning of the day that clocks show, and of the one that is `days` later. */
export function dayOf(time: number, zone: string, days = 0): number {
  return dayStart(midnightOf(shownAt(time, zone)) + days * DAY_MS, zone);
}
