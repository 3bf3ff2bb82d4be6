import { flowCohortWorkflowId, type FlowRunAdvance } from '../../../../workflows/flows/contract.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { RunRecord } from '../run/interpreter.ts';
import type { LoadedRun } from '../run/load.ts';
import { wakeChanged } from './wakes.ts';

/**
 * Leaves a run to its cohort, which takes it next. A process of the version before knows no cohorts: when an event
 * arrives or the flow is resumed, it starts a workflow of its own for the run, and that asks for the steps.
 * @param trx has locked the row of the run. Wake `outbox` after the commit
 */
export async function handOver(
  trx: Queryable,
  run: LoadedRun & { cohort_id: number },
  asOf: Date,
): Promise<FlowRunAdvance> {
  const { account_id: accountId, brand_id: brandId, cohort_id: cohortId, flow_id: flowId } = run;
  await wakeChanged(trx, [{ ...run, accountId, brandId }], 1, asOf);
  const { rows } = await trx.query<{ n: number }>('select n from flow_cohorts where id = $1', [cohortId]);
  const sentence = `continues in ${flowCohortWorkflowId(flowId, rows[0]?.n ?? 0)}`;
  const { stepId = null, steps = 0 } = run.record as Partial<RunRecord>;
  return { next: 'done', state: { state: 'active', reason: null, sentence, stepId, steps } };
}
