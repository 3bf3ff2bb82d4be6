import type pg from 'pg';
import { inTransaction, type Queryable } from '../db/queryable.ts';
import { appendToOutbox } from '../outbox/service.ts';
import type { AttemptOutcome, DueDelivery } from './attempt.ts';
import { healthAfter, type Health } from './health.ts';
import { recoveryWake, type RecoveredWebhook } from './recovery-start.ts';
import { retryDelaySeconds } from './retry-schedule.ts';

/** An attempt that was made. */
export interface MadeAttempt {
  due: DueDelivery;
  outcome: AttemptOutcome;
}

/** A delivery that is not to be attempted: its webhook is off, was off since, or is gone. */
export interface DroppedDelivery {
  due: Pick<DueDelivery, 'deliveryId' | 'createdAt'>;
  reason: 'webhook_off' | 'webhook_gone';
}

export interface Recording {
  made: readonly MadeAttempt[];
  dropped: readonly DroppedDelivery[];
}

/** How long after its time a workflow may be before the reconciler looks for it. */
export const ENGINE_GRACE_MS = 60_000;
/** A healthy webhook's row is written no more often than this. */
const SUCCESS_INTERVAL_MS = 30_000;

interface LockedWebhook extends RecoveredWebhook, Health {
  enabled: boolean;
  generation: number;
  armed: boolean;
  nextWakeAt: Date | null;
}

/**
 * Webhooks whose row the attempts change, locked in the order of their ids. A failure always locks: the workflow's
 * disarm takes the same lock, so that it sees either the retry or an unarmed row.
 */
async function lockWebhooks(client: Queryable, made: readonly MadeAttempt[]): Promise<LockedWebhook[]> {
  const idsOf = (delivered: boolean) => [
    ...new Set(made.filter((each) => each.outcome.delivered === delivered).map((each) => each.due.webhookId)),
  ];
  const { rows } = await client.query<LockedWebhook>({
    name: 'lock_attempted_webhooks',
    text: `
      select id, account_id as "accountId", brand_id as "brandId", enabled, generation,
        failing_since as "failingSince", last_failure_at as "lastFailureAt", last_success_at as "lastSuccessAt",
        recovery_armed as armed, next_wake_at as "nextWakeAt"
      from webhooks
      where id = any($1::bigint[])
        or (id = any($2::bigint[]) and (failing_since is not null or last_success_at is null or last_success_at < $3))
      order by id for no key update`,
    values: [idsOf(false), idsOf(true), new Date(Date.now() - SUCCESS_INTERVAL_MS)],
  });
  return rows;
}

interface Settlement {
  deliveryId: number;
  createdAt: string;
  attempt: number;
  status: 'retrying' | 'delivered' | 'failed';
  nextAttemptAt: Date | null;
  lastError: string | null;
  outcome: AttemptOutcome;
}

function settle(
  { due, outcome }: MadeAttempt,
  webhook: LockedWebhook | undefined,
  schedule: readonly number[],
): Settlement {
  const { deliveryId, createdAt, attempt } = due;
  const base = { deliveryId, createdAt, attempt, outcome, nextAttemptAt: null };
  if (outcome.delivered) return { ...base, status: 'delivered', lastError: null };
  if (!webhook?.enabled || webhook.generation !== due.generation) {
    return { ...base, status: 'failed', lastError: 'webhook_off' };
  }
  const delay = retryDelaySeconds(schedule, attempt, outcome.retryAfterSeconds);
  if (delay === null) return { ...base, status: 'failed', lastError: outcome.error };
  const endedAt = outcome.startedAt.getTime() + outcome.durationMs;
  const nextAttemptAt = new Date(endedAt + delay * 1_000);
  return { ...base, status: 'retrying', nextAttemptAt, lastError: outcome.error };
}

/**
 * Attempts are facts: recorded whoever owns the queue row by now, each once. A success counts even where the
 * delivery was given up meanwhile; a failure never takes a success back.
 */
const recordSql = `
  with input as (
    select * from json_to_recordset($1) as i (
      delivery_id bigint, created_at timestamptz, attempt smallint, status text, next_attempt_at timestamptz,
      last_error text, response_code smallint, started_at timestamptz, duration_ms int, error text, excerpt text)
  ), unqueued as (
    delete from webhook_queue q using input i where q.delivery_id = i.delivery_id
  ), updated as (
    update webhook_deliveries d set status = i.status, response_code = i.response_code,
      attempt_count = greatest(d.attempt_count, i.attempt), next_attempt_at = i.next_attempt_at,
      last_error = i.last_error
    from input i
    where d.id = i.delivery_id and d.created_at = i.created_at and d.created_at between $2 and $3
      and case i.status when 'delivered' then d.status <> 'delivered'
            else d.status in ('pending', 'retrying') and d.attempt_count < i.attempt end
    returning i.*
  )
  insert into webhook_attempts
    (delivery_id, created_at, attempt, started_at, duration_ms, response_code, error, response_excerpt)
  select delivery_id, created_at, attempt, started_at, duration_ms, response_code, error, excerpt from updated
  on conflict do nothing`;

function toRow({ outcome, ...settlement }: Settlement) {
  return {
    delivery_id: settlement.deliveryId,
    created_at: settlement.createdAt,
    attempt: settlement.attempt,
    status: settlement.status,
    next_attempt_at: settlement.nextAttemptAt,
    last_error: settlement.lastError,
    response_code: outcome.responseCode,
    started_at: outcome.startedAt,
    duration_ms: outcome.durationMs,
    error: outcome.error,
    excerpt: outcome.excerpt,
  };
}

/** First and last: fixed-width UTC times sort as text. */
function rangeOf(createdAt: string[]): [string, string] {
  const sorted = createdAt.toSorted();
  return [sorted[0] ?? '', sorted.at(-1) ?? ''];
}

async function recordSettlements(client: Queryable, settlements: readonly Settlement[]): Promise<void> {
  if (settlements.length === 0) return;
  const [first, last] = rangeOf(settlements.map((each) => each.createdAt));
  await client.query({
    name: 'record_attempts',
    text: recordSql,
    values: [JSON.stringify(settlements.map(toRow)), first, last],
  });
}

interface WebhookChange extends Health {
  id: number;
  /** Null: armed already, or nothing to retry. */
  wakeAt: Date | null;
}

function changeOf(
  webhook: LockedWebhook,
  made: readonly MadeAttempt[],
  settled: readonly Settlement[],
): WebhookChange {
  const health = healthAfter(
    webhook,
    made.map(({ outcome }) => outcome),
  );
  const times = settled.flatMap((each) => (each.nextAttemptAt ? [each.nextAttemptAt.getTime()] : []));
  const due = times.length === 0 ? null : new Date(Math.min(...times));
  const sooner = due !== null && (!webhook.armed || webhook.nextWakeAt === null || due < webhook.nextWakeAt);
  return { id: webhook.id, ...health, wakeAt: sooner ? due : null };
}

async function changeWebhooks(client: Queryable, changes: readonly WebhookChange[]): Promise<void> {
  if (changes.length === 0) return;
  const rows = changes.map(({ id, failingSince, lastFailureAt, lastSuccessAt, wakeAt }) => ({
    id,
    failing_since: failingSince,
    last_failure_at: lastFailureAt,
    last_success_at: lastSuccessAt,
    wake_at: wakeAt,
    expected_by: wakeAt && new Date(wakeAt.getTime() + ENGINE_GRACE_MS),
  }));
  await client.query({
    name: 'change_attempted_webhooks',
    text: `
      update webhooks w set failing_since = c.failing_since, last_failure_at = c.last_failure_at,
        last_success_at = c.last_success_at,
        recovery_armed = w.recovery_armed or c.wake_at is not null,
        next_wake_at = coalesce(c.wake_at, w.next_wake_at),
        engine_expected_by = coalesce(c.expected_by, w.engine_expected_by)
      from json_to_recordset($1) as c (id bigint, failing_since timestamptz, last_failure_at timestamptz,
        last_success_at timestamptz, wake_at timestamptz, expected_by timestamptz)
      where w.id = c.id`,
    values: [JSON.stringify(rows)],
  });
}

/** Nothing is left of a delivery whose webhook is gone: it may have been written while the webhook was removed. */
async function recordDropped(client: Queryable, dropped: readonly DroppedDelivery[]): Promise<void> {
  if (dropped.length === 0) return;
  const rows = dropped.map(({ due, reason }) => ({ id: due.deliveryId, created_at: due.createdAt, reason }));
  await client.query({
    name: 'record_dropped',
    text: `
      with input as (
        select * from json_to_recordset($1) as i (id bigint, created_at timestamptz, reason text)
      ), unqueued as (
        delete from webhook_queue q using input i where q.delivery_id = i.id
      ), removed as (
        delete from webhook_deliveries d using input i
        where i.reason = 'webhook_gone' and d.id = i.id and d.created_at = i.created_at
      )
      update webhook_deliveries d set status = 'failed', last_error = i.reason, next_attempt_at = null
      from input i
      where i.reason <> 'webhook_gone' and d.id = i.id and d.created_at = i.created_at
        and d.status in ('pending', 'retrying')`,
    values: [JSON.stringify(rows)],
  });
}

/**
 * Record attempts with all that follows from them in one transaction: deliveries, attempt rows, the webhooks'
 * health, the end of the queue rows, and the outbox row that wakes a recovery.
 * @param schedule WEBHOOK_RETRY_SCHEDULE
 * @returns whether the outbox has something new
 */
export async function recordAttempts(
  pool: pg.Pool,
  { made, dropped }: Recording,
  schedule: readonly number[],
): Promise<{ armed: boolean }> {
  return inTransaction(pool, async (client) => {
    const webhooks = await lockWebhooks(client, made);
    const byId = new Map(webhooks.map((webhook) => [webhook.id, webhook]));
    const settled = made.map((each) => ({
      webhookId: each.due.webhookId,
      settlement: settle(each, byId.get(each.due.webhookId), schedule),
    }));
    await recordSettlements(
      client,
      settled.map((each) => each.settlement),
    );
    await recordDropped(client, dropped);
    const madeOf = Map.groupBy(made, (each) => each.due.webhookId);
    const settledOf = Map.groupBy(settled, (each) => each.webhookId);
    const changes = webhooks.map((webhook) =>
      changeOf(
        webhook,
        madeOf.get(webhook.id) ?? [],
        (settledOf.get(webhook.id) ?? []).map((each) => each.settlement),
      ),
    );
    await changeWebhooks(client, changes);
    const woken = changes.filter((change) => change.wakeAt !== null).map((change) => byId.get(change.id));
    await appendToOutbox(
      client,
      woken.flatMap((webhook) => (webhook ? [recoveryWake(webhook)] : [])),
    );
    return { armed: woken.length > 0 };
  });
}
