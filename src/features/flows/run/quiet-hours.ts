import { clockAt, minutesOf } from './times.ts';

/** When messages of flows wait, as `brands.quiet_hours` stores it. */
export interface QuietHours {
  /** `HH:MM`. */
  start: string;
  /** `HH:MM`. Before `start`: on the next day. */
  end: string;
  /** An IANA name, or `contact`: that of the contact, else of its country, else of the brand, else UTC. */
  timezone: string;
}

const MINUTE_MS = 60_000;
const MINUTES_A_DAY = 1_440;
/** Clocks are changed by less than this. */
const MAX_CHANGE_MS = 180 * MINUTE_MS;

/**
 * When the brand's quiet hours end. A time that the clocks skip is the moment after the change.
 * @param timezone of the contact: an IANA name
 * @returns null if they are not now
 */
export function quietUntil(
  { quiet_hours: hours }: { quiet_hours: QuietHours | null },
  timezone: string,
  asOf: Date,
): Date | null {
  if (hours === null) return null;
  const [start, end] = [minutesOf(hours.start), minutesOf(hours.end)];
  const zone = hours.timezone === 'contact' ? timezone : hours.timezone;
  const isQuiet = (at: number) => {
    const { minutes } = clockAt(new Date(at), zone);
    return start <= end ? minutes >= start && minutes < end : minutes >= start || minutes < end;
  };
  const begun = asOf.getTime() - (asOf.getTime() % MINUTE_MS);
  if (!isQuiet(begun)) return null;
  const left = (end - clockAt(asOf, zone).minutes + MINUTES_A_DAY) % MINUTES_A_DAY;
  const expected = begun + left * MINUTE_MS;
  // Between now and then, the clocks may be changed: the end comes sooner or later.
  let until = expected;
  while (isQuiet(until) && until - expected < MAX_CHANGE_MS) until += MINUTE_MS;
  while (until - MINUTE_MS > begun && !isQuiet(until - MINUTE_MS) && expected - until < MAX_CHANGE_MS) {
    until -= MINUTE_MS;
  }
  return new Date(until);
}
