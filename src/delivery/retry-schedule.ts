/** How long a message may wait in all, for capacity or for a provider that refuses it for now. */
export const MESSAGE_LIFETIME_HOURS = 72;

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const FIRST_DELAYS = [1 * MINUTE, 5 * MINUTE, 15 * MINUTE];

/**
 * Seconds until the next attempt after a passing refusal: 1, 5, 15 minutes, then 1, 2, 4, 8 … hours.
 * @param attempt the attempt that was refused, from 1
 */
export function retryDelaySeconds(attempt: number): number {
  const early = FIRST_DELAYS[attempt - 1];
  if (early !== undefined) return early;
  return Math.min(HOUR * 2 ** (attempt - 1 - FIRST_DELAYS.length), MESSAGE_LIFETIME_HOURS * HOUR);
}
