import type { Queryable } from '../../../platform/db/queryable.ts';

/** A run that fails alone tries again after the first time, which doubles with each failure up to the second. */
const MIN_RETRY_SECONDS = 15;
const MAX_RETRY_SECONDS = 600;

/**
 * Lets a run of a cohort try its step again later, after a failure that concerns no other run.
 * @returns when, and how often in a row it has failed; null if it has ended
 */
export async function postponeRun(
  db: Queryable,
  runId: number,
  asOf: Date,
): Promise<{ retry_at: Date; failures: number } | null> {
  const { rows } = await db.query<{ retry_at: Date; failures: number }>({
    name: 'postpone_flow_run',
    text: `update flow_runs
           set retry_at = $2::timestamptz + make_interval(
               secs => least(${MAX_RETRY_SECONDS}, ${MIN_RETRY_SECONDS} * 2 ^ least(failures, 10))),
             failures = least(failures + 1, 1000)
           where id = $1 and state = 'active' returning retry_at, failures`,
    values: [runId, asOf],
  });
  return rows[0] ?? null;
}
