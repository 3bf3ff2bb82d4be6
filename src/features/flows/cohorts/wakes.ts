import type { Queryable } from '../../../platform/db/queryable.ts';
import { appendToOutbox, type OutboxPriority } from '../../../platform/outbox/append.ts';
import { type CohortOfFlow, flowCohortWake, flowRunWake, type RunOfFlow } from '../workflow.ts';

/** The columns of a {@link RunOfFlow}. @param run alias of `flow_runs` */
export const runOfFlowColumns = (run: string) =>
  `${run}.id, ${run}.account_id as "accountId", ${run}.brand_id as "brandId", ${run}.flow_id, ${run}.contact_id, ${run}.cause, ${run}.cohort_id`;

async function cohortsOf(trx: Queryable, ids: readonly number[]): Promise<CohortOfFlow[]> {
  if (ids.length === 0) return [];
  const { rows } = await trx.query<CohortOfFlow>({
    name: 'flow_cohorts_to_wake',
    text: `select id, account_id as "accountId", brand_id as "brandId", flow_id, n
           from flow_cohorts where id = any($1) order by id`,
    values: [ids],
  });
  return rows;
}

/**
 * Wakes the clocks of runs: the workflow of each, or that of its cohort once. Wake `outbox` after the commit. A cohort
 * takes only runs that are due: see {@link wakeChanged}.
 */
export async function wakeRuns(
  trx: Queryable,
  runs: readonly RunOfFlow[],
  priority: OutboxPriority,
): Promise<void> {
  const alone = runs.filter(({ cohort_id: cohortId }) => cohortId === null);
  const cohortIds = new Set(runs.flatMap(({ cohort_id: cohortId }) => cohortId ?? []));
  const cohorts = await cohortsOf(trx, [...cohortIds]);
  await appendToOutbox(trx, alone.map(flowRunWake), priority);
  // Events of a thousand contacts may arrive for one cohort within a second.
  await appendToOutbox(trx, cohorts.map(flowCohortWake), priority, { reuseWaiting: true });
}

/**
 * SQL: makes runs of cohorts due, so that their cohort looks at them, whatever they wait for. Not those that wait for the
 * response to a webhook step: nothing follows before it. Parameters: ids, time.
 */
const makeDueSql = `
  update flow_runs r set retry_at = $2, waits_for = case r.waits_for when 'webhook' then null else r.waits_for end
  where r.id = any($1) and r.cohort_id is not null and r.state = 'active'
    and (r.waits_for is distinct from 'webhook' or exists (
      select from flow_run_steps s where s.run_id = r.id and s.step_id = r.step_id))`;

/**
 * Wakes runs as {@link wakeRuns} does, after a change that their next transaction must see at once: of their flow, or of
 * what they wait for.
 * @param trx has locked the rows of the runs, in the order of their ids
 */
export async function wakeChanged(
  trx: Queryable,
  runs: readonly RunOfFlow[],
  priority: OutboxPriority,
  asOf: Date,
): Promise<void> {
  const ids = runs.filter(({ cohort_id: cohortId }) => cohortId !== null).map(({ id }) => id);
  if (ids.length > 0) await trx.query({ name: 'make_flow_runs_due', text: makeDueSql, values: [ids, asOf] });
  await wakeRuns(trx, runs, priority);
}
