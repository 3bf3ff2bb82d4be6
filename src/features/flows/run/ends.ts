/** Ends runs independently of their steps: by their goal, by a client, or with their flow or contact. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import { countForFlow, type FlowCountChange } from '../counts.ts';
import { runOfFlowColumns, wakeRuns } from '../cohorts/wakes.ts';
import type { RunOfFlow } from '../workflow.ts';

/** How a run ends. */
export interface RunEnd {
  state: 'completed' | 'exited' | 'canceled';
  reason: string;
}

interface EndedRun extends RunOfFlow {
  test: boolean;
}

/**
 * SQL: ends active runs. If the contact was deleted, its data in the runs is cleared. Parameters: ids, state, reason,
 * time.
 */
const endSql = `
  with picked as materialized (
    select id from flow_runs where id = any($1::bigint[]) and state = 'active' order by id for no key update
  ), waits as (
    delete from flow_waits where run_id in (select id from picked)
  ), arrivals as (
    delete from flow_arrivals where run_id in (select id from picked)
  )
  update flow_runs r
  set state = $2, reason = $3, step_id = null, waits_for = null, due_at = null, engine_expected_by = null, ended_at = $4,
    updated_at = now(), event = case when $3 = 'contact_deleted' then null else r.event end
  from picked p where r.id = p.id
  returning ${runOfFlowColumns('r')}, r.test`;

/** Counts ended runs, except test runs. */
export async function countEnds(
  trx: Queryable,
  runs: readonly { flow_id: number; test: boolean }[],
  { state, reason }: RunEnd,
): Promise<void> {
  const name = state === 'completed' ? state : (`${state}:${reason}` as const);
  const counted = runs.filter(({ test }) => !test);
  const changes = counted.flatMap(({ flow_id: flowId }): FlowCountChange[] => [
    { flowId, name, n: 1 },
    ...(state === 'exited' && reason === 'goal' ? [{ flowId, name: 'goal' as const, n: 1 }] : []),
  ]);
  await countForFlow(trx, changes);
}

/**
 * Ends those of the runs that are active. Wake `outbox` after the commit if their workflows are woken.
 * @param options.priority of the wake-ups of their workflows; null if they are not woken, because the caller is one of
 *   them
 * @param options.wakesCohorts whether cohorts are woken, too; by default they are. They need not be, because a run that
 *   has ended is not due any more
 * @returns how many
 */
export async function endRuns(
  trx: Queryable,
  ids: readonly number[],
  end: RunEnd,
  { asOf, priority, wakesCohorts = true }: { asOf: Date; priority: 0 | 1 | 2 | null; wakesCohorts?: boolean },
): Promise<number> {
  if (ids.length === 0) return 0;
  const { rows } = await trx.query<EndedRun>({
    name: 'end_flow_runs_2',
    text: endSql,
    values: [ids, end.state, end.reason, asOf],
  });
  await countEnds(trx, rows, end);
  if (priority === null) return rows.length;
  const woken = wakesCohorts ? rows : rows.filter(({ cohort_id: cohortId }) => cohortId === null);
  await wakeRuns(trx, woken, priority);
  return rows.length;
}
