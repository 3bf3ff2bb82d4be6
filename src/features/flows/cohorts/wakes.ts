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
 * Wakes the clocks of runs: the workflow of each, or that of its cohort once. Wake `outbox` after the commit.
 */
export async function wakeRuns(
  trx: Queryable,
  runs: readonly RunOfFlow[],
  priority: OutboxPriority,
): Promise<void> {
  const alone = runs.filter(({ cohort_id: cohortId }) => cohortId === null);
  const cohortIds = new Set(runs.flatMap(({ cohort_id: cohortId }) => cohortId ?? []));
  const cohorts = await cohortsOf(trx, [...cohortIds]);
  await appendToOutbox(trx, [...alone.map(flowRunWake), ...cohorts.map(flowCohortWake)], priority);
}
