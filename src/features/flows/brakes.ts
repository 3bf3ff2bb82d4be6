/** Pauses flows whose emails bounce or are reported as spam too often. */
import type pg from 'pg';
import {
  type ReputationCounts,
  type ExceededRate,
  stopReason,
  type StopThresholds,
} from '../../delivery/ledger/limits/stop-thresholds.ts';
import { createEvent } from '../../platform/events/define.ts';
import type { EventPublisher, QueuedWork } from '../../platform/events/publish.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import { readSentCount } from './counts.ts';
import { flowEvents } from './events.ts';
import { lockFlow } from './model.ts';
import { pauseFlow } from './transitions.ts';

/** Number of days that the rates cover; fewer if the flow was activated or resumed within them. */
const RATE_DAYS = 7;
const ROWS_AT_ONCE = 5_000;

/** SQL: the emails of the flow `f` that its rates are about. */
const harmSql = `
    select coalesce(sum(o.attempted), 0)::int as counted, coalesce(sum(o.hard_bounces), 0)::int as bounced,
      coalesce(sum(o.complaints), 0)::int as complained
    from flow_outcomes o
    where o.flow_id = f.id
      and o.since >= greatest(f.counted_from, $2::timestamptz - interval '${RATE_DAYS} days')`;

/** Finds rows whose figures have not been judged yet, as JSON: a Date would lose PostgreSQL's microseconds. */
async function findUnjudged(db: Queryable): Promise<{ flowId: number; row: string }[]> {
  const { rows } = await db.query<{ flowId: number; row: string }>({
    name: 'find_unjudged_flows',
    text: `select flow_id as "flowId", to_jsonb(o)::text as row from flow_outcomes o where unjudged
      order by flow_id limit ${ROWS_AT_ONCE}`,
  });
  return rows;
}

/** Marks rows as judged, unless their figures have changed since they were read. */
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

/** Reads the reputation counts of those of these flows that are active. */
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

/**
 * Pauses a flow and publishes the event, if its rates still exceed a threshold.
 * @returns the work to wake; null if the flow stays active
 */
async function pauseIfHarmful(
  pool: pg.Pool,
  events: EventPublisher,
  limits: StopThresholds,
  flowId: number,
  asOf: Date,
): Promise<{ queued: QueuedWork; cause: ExceededRate } | null> {
  return inTransaction(pool, async (trx) => {
    // The flow may have been resumed since it was read; its rates then start over.
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
 * Checks flows whose outcomes have changed, and pauses those whose rates exceed a threshold. Outcomes are marked as
 * judged only afterwards, so a crash skips none. Several workers may run this at once.
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
