import { activityInfo } from '@temporalio/activity';

/**
 * The time at which an activity works: the workflow's time at the call, plus the time that the activity has since spent
 * waiting for a worker or failing. A step that is due before quiet hours is not done in them because of an outage. If the
 * engine's clock is ahead of this machine's, as in tests that skip time, that time is unknown and counts as zero.
 * @param asOf the workflow's time at the call, ISO 8601
 */
export function presentTime(asOf: string): Date {
  const { isLocal, attempt, scheduledTimestampMs } = activityInfo();
  const now = Date.now();
  const present = Date.parse(asOf) + Math.max(0, now - scheduledTimestampMs);
  // The engine's timer between two attempts of a local activity schedules it once more, with the former argument.
  return new Date(isLocal && attempt > 1 ? Math.max(present, now) : present);
}
