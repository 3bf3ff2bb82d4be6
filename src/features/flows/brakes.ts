/** Pauses flows that do harm: too many of their emails bounce or are reported as spam. */
import type pg from 'pg';
import {
  type ReputationCounts,
  type ExceededRate,
  stopReason,
  type StopThresholds,
} from '../../delivery/limits/stop-thresholds.ts';
import { createEvent } from '../../platform/events/define.ts';
import type { EventPublisher, QueuedWork } from '../../platform/events/publish.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import { readSentCount } from './counts.ts';
import { flowEvents } from './events.ts';
import { lockFlow } from './model.ts';
import { pauseFlow } from './transitions.ts';

/** Days over which the rates are taken, unless the flow was activated or resumed since. */
const RATE_DAYS = 7;
const ROWS_AT_ONCE = 5_000;

/** SQL: the emails of the flow `f` that its rates are about. */
const harmSql = `
    select coalesce(sum(o.attempted), 0)::int as counted, coalesce(sum(o.hard_bounces), 0)::int as bounced,
      coalesce(sum(o.complaints), 0)::int as complained
    from flow_outcomes o
    where o.flow_id = f.id
      and o.since >= greatest(f.counted_from, $2::timestamptz - interval '${RATE_DAYS} days')`;

/** Rows whose figures were not judged, as JSON: a time of PostgreSQL has microseconds. */
async function findUnjudged(db: Queryable): Promise<{ flowId: number; row: string }[]> {
  const { rows } = await db.query<{ flowId: number; row: string }>({
    name: 'find_unjudged_flows',
    text: `select flow_id as "flowId", to_jsonb(o)::text as row from flow_outcomes o where unjudged
      order by flow_id limit ${ROWS_AT_ONCE}`,
  });
  return rows;
}

/** Marks rows that were judged, unless their figures have changed since. */
async function markJudged(db: Queryable, rows: readonly string[]): Promise<void> {
  await db.query({
    name: 'mark_flows_judged',
    text: `
    with judged as materialized (
      select o.flow_id, o.since from unnest($1::jsonb[]) as u (row)
      cross join lateral jsonb_to_record(u.row) as j (
        flow_id bigint, since timestamptz, attempted int, hard_bounces int, complaints int)
      join flow_outcomes o on o.flow_id = j.flow_id and o.since = j.since and o.attempted = j.attempted
        and o.hard_bounces = j.hard_bounces and o.complaints = j.complaints
      order by o.flow_id, o.since for update of o
    )
    update flow_outcomes o set unjudged = false from judged j where o.flow_id = j.flow_id and o.since = j.since`,
    values: [rows],
  });
}

/** Finds which of these flows are active, with what they did. */
async function readHarm(
  db: Queryable,
  flowIds: readonly number[],
  asOf: Date,
): Promise<(ReputationCounts & { flowId: number })[]> {
  const { rows } = await db.query<ReputationCounts & { flowId: number }>({
    name: 'read_harm_of_flows',
    text: `select f.id as "flowId", h.* from flows f cross join lateral (${harmSql}) h
      where f.id = any($1::bigint[]) and f.status = 'active' order by f.id`,
    values: [flowIds, asOf],
  });
  return rows;
}

/** Pauses a flow with its event, if it still does harm. @returns the work to wake; null if it goes on */
async function pauseIfHarmful(
  pool: pg.Pool,
  events: EventPublisher,
  limits: StopThresholds,
  flowId: number,
  asOf: Date,
): Promise<{ queued: QueuedWork; cause: ExceededRate } | null> {
  return inTransaction(pool, async (trx) => {
    // A resume may have come between: the rates count from there.
    await lockFlow(trx, flowId);
    const [harm] = await readHarm(trx, [flowId], asOf);
    const cause = harm ? stopReason(harm, limits) : null;
    if (!cause) return null;
    const at = asOf.toISOString();
    const paused = await pauseFlow(trx, { id: flowId }, { stop: { ...cause, at }, asOf });
    if (!paused) return null;
    const { account_id: accountId, brand_id: brandId, name } = paused;
    const sent_count = await readSentCount(trx, flowId);
    const data = { flow_id: flowId, name, sent_count, cause: { ...cause, at } };
    const queued = await events.publish(trx, [
      createEvent(flowEvents.paused, { accountId, brandId, occurredAt: asOf, data }),
    ]);
    return { queued, cause };
  });
}

/** A flow that was paused. */
export interface BrakedFlow extends ExceededRate {
  flowId: number;
}

/**
 * Looks at flows whose outcomes have changed, and pauses those that do harm. Outcomes count as judged only after that, so
 * that a process that dies forgets none. Two workers at once do no harm.
 * @param queue called with the work to wake
 */
export async function brakeFlows(
  { pool, events }: { pool: pg.Pool; events: EventPublisher },
  limits: StopThresholds,
  asOf: Date,
  queue: (work: QueuedWork) => void,
): Promise<BrakedFlow[]> {
  const unjudged = await findUnjudged(pool);
  if (unjudged.length === 0) return [];
  const flowIds = [...new Set(unjudged.map(({ flowId }) => flowId))];
  const braked: BrakedFlow[] = [];
  for (const { flowId, ...harm } of await readHarm(pool, flowIds, asOf)) {
    if (!stopReason(harm, limits)) continue;
    const paused = await pauseIfHarmful(pool, events, limits, flowId, asOf);
    if (!paused) continue;
    queue(paused.queued);
    braked.push({ flowId, ...paused.cause });
  }
  await markJudged(
    pool,
    unjudged.map(({ row }) => row),
  );
  return braked;
}
