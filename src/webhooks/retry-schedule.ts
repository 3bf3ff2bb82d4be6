/**
 * When the next attempt is due.
 * @param schedule seconds after the first, second … failed attempt (WEBHOOK_RETRY_SCHEDULE)
 * @param attempt the one that failed, from 1
 * @param retryAfterSeconds what the endpoint asked for: it may postpone, at most to the delay of the step after
 * @returns seconds; null after the last
 */
export function retryDelaySeconds(
  schedule: readonly number[],
  attempt: number,
  retryAfterSeconds: number | null,
): number | null {
  const delay = schedule[attempt - 1];
  if (delay === undefined) return null;
  const longest = Math.max(delay, schedule[attempt] ?? delay);
  return Math.max(delay, Math.min(retryAfterSeconds ?? 0, longest));
}
