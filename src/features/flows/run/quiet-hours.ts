import { clockAt, minutesOf } from './times.ts';

/** The hours in which messages of flows wait, as `brands.quiet_hours` stores them. */
export interface QuietHours {
  /** `HH:MM`. */
  start: string;
  /** `HH:MM`. If it is before `start`, it is on the next day. */
  end: string;
  /** An IANA name, or `contact`: the time zone of the contact, else of its country, else of the brand, else UTC. */
  timezone: string;
}

const MINUTE_MS = 60_000;
const MINUTES_A_DAY = 1_440;
/** Upper bound of a clock change. */
const MAX_CHANGE_MS = 180 * MINUTE_MS;

/**
 * When the brand's current quiet hours end. If the clocks skip that time, it is the moment of the change.
 * @param timezone of the contact: an IANA name
 * @returns null outside quiet hours
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
  // The clocks may change until then, which moves the end.
  let until = expected;
  while (isQuiet(until) && until - expected < MAX_CHANGE_MS) until += MINUTE_MS;
  while (until - MINUTE_MS > begun && !isQuiet(until - MINUTE_MS) && expected - until < MAX_CHANGE_MS) {
    until -= MINUTE_MS;
  }
  return new Date(until);
}
