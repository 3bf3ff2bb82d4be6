/**
 * Counts what happened in flows. Transactions insert changes as rows, so that no two wait for the same counter; every
 * second, the worker folds these rows into the counters.
 */
import type { Queryable } from '../../platform/db/queryable.ts';

/** What is counted for runs, and for steps if `stepId` is given. The sender counts the results of messages. */
export type FlowCountName =
  | 'entered'
  /** With the reason, such as `not_entered:already_entered`. */
  | `not_entered:${string}`
  | 'completed'
  | `exited:${string}`
  | `canceled:${string}`
  /** A run that ended by the goal of its flow; it is counted as exited, too. */
  | 'goal'
  /** A message was written for a step. */
  | 'accepted'
  /** A step wrote no message: `skipped:no_address`, `failed:sandbox_limit_reached`. */
  | `skipped:${string}`
  | `failed:${string}`;

export interface FlowCountChange {
  flowId: number;
  /** Left out: the flow as a whole is counted. */
  stepId?: number;
  name: FlowCountName;
  n: number;
}

/**
 * Counts what happened in flows. Runs of test events are not counted: do not call it for them.
 * @param trx the transaction in which it happened
 */
export async function countForFlow(trx: Queryable, changes: readonly FlowCountChange[]): Promise<void> {
  if (changes.length === 0) return;
  await trx.query({
    name: 'count_for_flow',
    text: `
    insert into flow_count_changes (flow_id, step_id, name, change)
    select flow_id, step_id, name, sum(change)
    from unnest($1::bigint[], $2::int[], $3::text[], $4::int[]) as c (flow_id, step_id, name, change)
    group by flow_id, step_id, name`,
    values: [
      changes.map(({ flowId }) => flowId),
      changes.map(({ stepId = 0 }) => stepId),
      changes.map(({ name }) => name),
      changes.map(({ n }) => n),
    ],
  });
}

/** Maximum number of changes folded by one statement. */
const FOLDED_AT_ONCE = 20_000;

/**
 * SQL: folds changes into the counts by day, the outcomes by hour and the flows' own count of messages sent. An hour in
 * which a flow was resumed is split at that moment, because its rates start over.
 */
const foldSql = `
  with taken as (
    delete from flow_count_changes where ctid = any (array(
      select ctid from flow_count_changes limit ${FOLDED_AT_ONCE} for update skip locked))
    returning flow_id, step_id, name, change, at
  ), known as materialized (
    select t.*, f.counted_from from taken t join flows f on f.id = t.flow_id
  ), folded as (
    insert into flow_counts as c (flow_id, step_id, name, day, count)
    select flow_id, step_id, name, (at at time zone 'UTC')::date as day, sum(change) from known
    where name not in ('attempted', 'hard_bounced') group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (flow_id, step_id, name, day) do update set count = c.count + excluded.count
  ), outcomes as (
    insert into flow_outcomes as o (flow_id, since, attempted, hard_bounces, complaints)
    select flow_id,
      greatest(date_trunc('hour', at, 'UTC'), case when at >= counted_from then counted_from end) as since,
      coalesce(sum(change) filter (where name = 'attempted'), 0),
      coalesce(sum(change) filter (where name = 'hard_bounced'), 0),
      coalesce(sum(change) filter (where name = 'complained'), 0)
    from known where name in ('attempted', 'hard_bounced', 'complained') group by 1, 2 order by 1, 2
    on conflict (flow_id, since) do update set attempted = o.attempted + excluded.attempted,
      hard_bounces = o.hard_bounces + excluded.hard_bounces, complaints = o.complaints + excluded.complaints,
      unjudged = true
  ), counters as materialized (
    select id from flows where id in (select flow_id from known where name = 'sent') order by id for no key update
  ), sent as (
    update flows f set sent_count = f.sent_count + s.change
    from (select flow_id, sum(change) as change from known where name = 'sent' group by flow_id) s
    join counters c on c.id = s.flow_id where f.id = s.flow_id
  )
  select count(*)::int as taken from taken`;

/**
 * Folds changes into the counters. Several processes may fold at once: each takes different rows, and all lock the
 * counters in the same order.
 * @returns whether there may be more changes
 */
export async function foldFlowCounts(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ taken: number }>({ name: 'fold_flow_counts', text: foldSql });
  return (rows[0]?.taken ?? 0) === FOLDED_AT_ONCE;
}

/** A count of a flow or a step, by name. */
export interface FlowCount {
  stepId: number;
  name: string;
  count: number;
}

/**
 * Reads the counts of a flow. They add changes that are not folded yet to the counters, in one statement, so that it
 * sees each change exactly once.
 * @param days inclusive, in UTC, as `YYYY-MM-DD`; null: no bound
 */
export async function readFlowCounts(
  db: Queryable,
  flowId: number,
  { from, to }: { from: string | null; to: string | null },
): Promise<FlowCount[]> {
  const { rows } = await db.query<FlowCount>({
    name: 'read_flow_counts',
    text: `
    select step_id as "stepId", name, sum(count)::bigint as count from (
      select step_id, name, day, count from flow_counts where flow_id = $1
      union all
      select step_id, name, (at at time zone 'UTC')::date, change from flow_count_changes
      where flow_id = $1 and name not in ('attempted', 'hard_bounced')
    ) c
    where day between coalesce($2::date, '-infinity') and coalesce($3::date, 'infinity')
    group by 1, 2`,
    values: [flowId, from, to],
  });
  return rows;
}

/** How many messages of a flow providers have accepted, including changes that are not folded yet. */
export async function readSentCount(db: Queryable, flowId: number): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select (f.sent_count + coalesce((
       select sum(change) from flow_count_changes c where c.flow_id = f.id and c.name = 'sent'), 0))::bigint as count
     from flows f where f.id = $1`,
    [flowId],
  );
  return rows[0]?.count ?? 0;
}
