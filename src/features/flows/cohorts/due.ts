/** When runs of cohorts are due. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import { GOAL_STEP } from '../run/waits.ts';
import type { LoadedCohort } from './load.ts';

/**
 * SQL: when a run of a cohort is due, for the index `flow_runs_due`; `-infinity`: now, `infinity`: once its flow resumes.
 * Use it with `cohort_id is not null and state = 'active'`. A migration has the same expression.
 * @param run alias of `flow_runs`
 */
export function nextAtSql(run: string): string {
  return `coalesce(${run}.retry_at, case ${run}.waits_for
    when 'resume' then 'infinity'::timestamptz
    when 'webhook' then coalesce(${run}.call_at, '-infinity'::timestamptz)
    else coalesce(${run}.due_at, '-infinity'::timestamptz) end)`;
}

/** A run whose step is due, or whose event or goal has arrived. */
export interface DueRun {
  id: number;
  /** Since when, in ms since 1970. */
  since: number;
}

/** SQL: a run at a webhook step is called, not advanced. While a flow is paused, only goals end waits for events. */
const dueSql = `
  with due as (
    select r.id, ${nextAtSql('r')} as next_at, coalesce(r.retry_at, r.due_at, r.updated_at) as since
    from flow_runs r
    where r.cohort_id = $1 and r.state = 'active' and ${nextAtSql('r')} <= $2
      and r.waits_for is distinct from 'webhook' and r.id <> all($4)
    order by ${nextAtSql('r')}, r.id limit $3
  ), arrived as (
    select r.id, '-infinity'::timestamptz as next_at, r.updated_at as since
    from flow_runs r
    where r.cohort_id = $1 and r.state = 'active' and (r.retry_at is null or r.retry_at <= $2) and r.id <> all($4)
      and exists (select 1 from flow_arrivals a where a.run_id = r.id and (
        a.step_id = ${GOAL_STEP} or $5 and r.waits_for = 'event' and a.step_id = r.step_id))
    limit $3
  )
  select id, extract(epoch from min(since))::float8 * 1000 as since
  from (select * from due union all select * from arrived) r group by id order by min(next_at), id limit $3`;

/**
 * Finds runs of a cohort that are due, those that are due for longest first.
 * @param except ids of runs to leave out
 */
export async function dueRuns(
  db: Queryable,
  { id, flow_status: status }: LoadedCohort,
  { asOf, limit, except }: { asOf: Date; limit: number; except: readonly number[] },
): Promise<DueRun[]> {
  const { rows } = await db.query<DueRun>({
    name: 'due_flow_runs',
    text: dueSql,
    values: [id, asOf, limit, except, status === 'active'],
  });
  return rows;
}
