import { activityInfo } from '@temporalio/activity';

/**
 * The time at which an activity works: the workflow's time at the call, plus the time that the activity has since spent
 * waiting for a worker or failing. Otherwise, after an outage, a step that was due before quiet hours would be taken
 * during them. If the engine's clock is ahead of this machine's, as in tests that skip time, that time is unknown and
 * counts as zero.
 * @param asOf the workflow's time at the call, in ISO 8601
 */
export function presentTime(asOf: string): Date {
  const { isLocal, attempt, scheduledTimestampMs } = activityInfo();
  const now = Date.now();
  const present = Date.parse(asOf) + Math.max(0, now - scheduledTimestampMs);
  // The timer between two attempts of a local activity schedules it again, with the old argument.
  return new Date(isLocal && attempt > 1 ? Math.max(present, now) : present);
}
