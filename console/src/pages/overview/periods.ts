/** The periods of the overview, and how finely each is divided. */

export type Interval = 'hour' | 'day';

export interface Period {
  name: string;
  label: string;
  days: number;
  /** Unless the reader has chosen another. */
  interval: Interval;
}

export const periods: readonly [Period, ...Period[]] = [
  { name: '24h', label: 'Last 24 hours', days: 1, interval: 'hour' },
  { name: '7d', label: 'Last 7 days', days: 7, interval: 'day' },
  { name: '30d', label: 'Last 30 days', days: 30, interval: 'day' },
];

const HOUR_MS = 3_600_000;
const HOURS_OF_A_DAY = 24;

/** Returns the period of this name; the first one if the URL names none. */
export const periodNamed = (name: string | undefined): Period =>
  periods.find((period) => period.name === name) ?? periods[0];

const twoDigits = (value: number) => String(value).padStart(2, '0');

/** The day of a time in the viewer's zone, as the API takes it. */
const dayOf = (at: Date) => `${at.getFullYear()}-${twoDigits(at.getMonth() + 1)}-${twoDigits(at.getDate())}`;

/**
 * Returns when the period begins and ends, for the API: by day, whole days with today as the last; by hour, whole hours
 * with the current one as the last.
 */
export function boundsOf(
  { days }: Period,
  interval: Interval,
  now = new Date(),
): { from: string; to?: string } {
  if (interval === 'hour') {
    const end = (Math.floor(now.getTime() / HOUR_MS) + 1) * HOUR_MS;
    const begin = end - days * HOURS_OF_A_DAY * HOUR_MS;
    return { from: new Date(begin).toISOString(), to: new Date(end).toISOString() };
  }
  const first = new Date(now);
  first.setDate(first.getDate() - days + 1);
  return { from: dayOf(first), to: dayOf(now) };
}
