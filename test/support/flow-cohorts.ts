import type pg from 'pg';
import { insertRun, type RunSpec, type TestFlow } from './flow-runs.ts';
import type { QueuedAccount } from './queued.ts';

export interface TestCohort {
  id: number;
  /** Its number in the flow. */
  n: number;
  workflowId: string;
  /** The ids of its runs, in the order of the contacts. */
  runs: number[];
}

/** Lets contacts enter a flow together, in a cohort of their own, like the loop of entries does, but without a workflow. */
export async function insertCohort(
  pool: pg.Pool,
  account: QueuedAccount,
  flow: TestFlow,
  contactIds: readonly number[],
  spec: Omit<RunSpec, 'cohortId'> = {},
): Promise<TestCohort> {
  const { rows } = await pool.query<{ id: number; n: number }>(
    `insert into flow_cohorts (account_id, brand_id, flow_id, n, size, closed_at, engine_expected_by)
     select $1, $2, $3, coalesce(max(n), 0) + 1, $4, now(), now() + interval '10 minutes'
     from flow_cohorts where flow_id = $3 returning id, n`,
    [account.accountId, account.brandId, flow.id, contactIds.length],
  );
  const { id = 0, n = 0 } = rows[0] ?? {};
  const runs: number[] = [];
  for (const contactId of contactIds) {
    runs.push(await insertRun(pool, account, flow, contactId, { ...spec, cohortId: id }));
  }
  return { id, n, workflowId: `flow-cohort/${flow.id}/${n}`, runs };
}
