/** The requests of webhook steps that runs of a cohort wait for. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import { type CallingRun, callingRunColumns, isCalledSql } from '../run/calls.ts';
import { nextAtSql } from './due.ts';

export interface DueCall extends CallingRun {
  /** False if its contact was deleted, or a worker of the version before has stored the response. */
  called: boolean;
}

/**
 * Finds runs whose next attempt is due, those that are due for longest first.
 * @param page.except ids of runs to leave out
 */
export async function dueCalls(
  db: Queryable,
  cohortId: number,
  { asOf, limit, except }: { asOf: Date; limit: number; except: readonly number[] },
): Promise<DueCall[]> {
  const { rows } = await db.query<DueCall>({
    name: 'due_flow_calls',
    text: `
      select ${callingRunColumns('r')}, ${isCalledSql('r')} as called
      from flow_runs r join flows f on f.id = r.flow_id
      where r.cohort_id = $1 and r.state = 'active' and ${nextAtSql('r')} <= $2 and r.waits_for = 'webhook'
        and f.status = 'active' and r.id <> all($3)
      order by ${nextAtSql('r')} limit $4`,
    values: [cohortId, asOf, except, limit],
  });
  return rows;
}

/** Makes a run due that is not called: its next transaction finds the response, or ends it. */
export async function releaseCall(db: Queryable, { id, step_id: stepId }: CallingRun): Promise<void> {
  await db.query({
    name: 'release_flow_call',
    text: `update flow_runs set waits_for = null, call_at = null, retry_at = null
           where id = $1 and state = 'active' and step_id = $2 and waits_for = 'webhook'`,
    values: [id, stepId],
  });
}

/**
 * Postpones all due calls of a cohort that are at the same step as a run.
 * @param page.except ids of runs to leave out
 * @returns how many
 */
export async function postponeCalls(
  db: Queryable,
  { cohort_id: cohortId, step_id: stepId }: CallingRun,
  { asOf, until, except }: { asOf: Date; until: Date; except: readonly number[] },
): Promise<number> {
  const { rowCount } = await db.query({
    name: 'postpone_flow_calls',
    text: `
      update flow_runs r set call_at = $4, retry_at = null
      from (
        select d.id from flow_runs d
        where d.cohort_id = $1 and ${nextAtSql('d')} <= $3 and d.state = 'active' and d.waits_for = 'webhook'
          and d.step_id = $2 and d.id <> all($5)
        order by d.id for no key update
      ) due
      where r.id = due.id`,
    values: [cohortId, stepId, asOf, until, except],
  });
  return rowCount ?? 0;
}
