import type pg from 'pg';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import type { WakeChannel } from '../../../platform/db/wake.ts';
import type { EventPublisher } from '../../../platform/events/publish.ts';
import { appendToOutbox } from '../../../platform/outbox/append.ts';
import { recoveryWake } from '../workflow.ts';
import type { AttemptOutcome, DueDelivery } from './attempt.ts';
import { disableWhereDue } from './failure-limits.ts';
import {
  changeOf,
  lockAttempted,
  writeChanges,
  type LockedWebhook,
  type MadeAttempt,
  type WebhookChange,
} from './health.ts';

/**
 * When the next attempt is due.
 * @param schedule seconds after the first, second … failed attempt (WEBHOOK_RETRY_SCHEDULE)
 * @param attempt the one that failed, from 1
 * @param retryAfterSeconds what the endpoint asked for: it may postpone, at most to the delay of the step after
 * @returns seconds; null after the last
 */
export function retryDelaySeconds(
  schedule: readonly number[],
  attempt: number,
  retryAfterSeconds: number | null,
): number | null {
  const delay = schedule[attempt - 1];
  if (delay === undefined) return null;
  const longest = Math.max(delay, schedule[attempt] ?? delay);
  return Math.max(delay, Math.min(retryAfterSeconds ?? 0, longest));
}

/** A delivery that is not to be attempted: its webhook is off, was off since, or is gone, or its event is. */
export interface DroppedDelivery {
  due: Pick<DueDelivery, 'deliveryId' | 'createdAt' | 'generation'>;
  reason: 'webhook_off' | 'webhook_gone' | 'event_gone';
}

export interface Recording {
  made: readonly MadeAttempt[];
  dropped: readonly DroppedDelivery[];
}

/** What recording goes by. */
export interface RecordRules {
  /** WEBHOOK_RETRY_SCHEDULE. */
  schedule: readonly number[];
  /** Who tells the owners that a webhook was turned off; of `systemSender`. */
  systemFrom: string;
  events: EventPublisher;
}

interface AttemptRecord {
  deliveryId: number;
  createdAt: string;
  attempt: number;
  status: 'retrying' | 'delivered' | 'failed';
  nextAttemptAt: Date | null;
  lastError: string | null;
  /** Of an attempt from before its webhook was switched: what was made due since is not ended by its failure. */
  formerGeneration?: number;
  outcome: AttemptOutcome;
}

function settle(
  { due, outcome }: MadeAttempt,
  webhook: LockedWebhook | undefined,
  schedule: readonly number[],
): AttemptRecord {
  const { deliveryId, createdAt, attempt } = due;
  const base = { deliveryId, createdAt, attempt, outcome, nextAttemptAt: null };
  if (outcome.delivered) return { ...base, status: 'delivered', lastError: null };
  if (!webhook?.enabled || webhook.generation !== due.generation) {
    return { ...base, status: 'failed', lastError: 'webhook_off', formerGeneration: due.generation };
  }
  const delay = retryDelaySeconds(schedule, attempt, outcome.retryAfterSeconds);
  if (delay === null) return { ...base, status: 'failed', lastError: outcome.error };
  const endedAt = outcome.startedAt.getTime() + outcome.durationMs;
  const nextAttemptAt = new Date(endedAt + delay * 1_000);
  return { ...base, status: 'retrying', nextAttemptAt, lastError: outcome.error };
}

/**
 * Attempts are facts: recorded whoever owns the queue row by now, each once. A success counts even where the
 * delivery was given up meanwhile; a failure never takes a success back. No range of times is given: planned once,
 * the statement would read all deliveries within it instead of looking up each by its key.
 */
const recordSql = `
  with input as (
    select * from json_to_recordset($1) as i (
      delivery_id bigint, created_at timestamptz, attempt smallint, former_generation int, status text,
      next_attempt_at timestamptz, last_error text, response_code smallint, started_at timestamptz, duration_ms int, error text, excerpt text)
  ), unqueued as (
    delete from webhook_queue where delivery_id = any($2)
  ), updated as (
    -- What was made due since the webhook was switched waits for an attempt of its own.
    update webhook_deliveries d set attempt_count = greatest(d.attempt_count, i.attempt),
      status = case when d.generation > i.former_generation then d.status else i.status end,
      response_code = case when d.generation > i.former_generation then d.response_code else i.response_code end,
      next_attempt_at = case when d.generation > i.former_generation then d.next_attempt_at else i.next_attempt_at end,
      last_error = case when d.generation > i.former_generation then d.last_error else i.last_error end
    from input i
    where d.id = i.delivery_id and d.created_at = i.created_at
      and case i.status when 'delivered' then d.status <> 'delivered'
            else d.status in ('pending', 'retrying') and d.attempt_count < i.attempt end
    returning i.*
  )
  insert into webhook_attempts
    (delivery_id, created_at, attempt, started_at, duration_ms, response_code, error, response_excerpt)
  select delivery_id, created_at, attempt, started_at, duration_ms, response_code, error, excerpt from updated
  on conflict do nothing`;

function toRow({ outcome, ...settlement }: AttemptRecord) {
  return {
    delivery_id: settlement.deliveryId,
    created_at: settlement.createdAt,
    attempt: settlement.attempt,
    former_generation: settlement.formerGeneration,
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

async function recordSettlements(client: Queryable, settlements: readonly AttemptRecord[]): Promise<void> {
  if (settlements.length === 0) return;
  // In one order, so that two who write the same deliveries never wait for one another.
  const sorted = settlements.toSorted((one, other) => one.deliveryId - other.deliveryId);
  await client.query({
    name: 'record_attempts',
    text: recordSql,
    values: [JSON.stringify(sorted.map(toRow)), sorted.map(({ deliveryId }) => deliveryId)],
  });
}

/** Nothing is left of a delivery whose webhook is gone: it may have been written while the webhook was removed. */
async function recordDropped(client: Queryable, dropped: readonly DroppedDelivery[]): Promise<void> {
  if (dropped.length === 0) return;
  const rows = dropped.map(({ due, reason }) => ({
    id: due.deliveryId,
    created_at: due.createdAt,
    generation: due.generation,
    reason,
  }));
  await client.query({
    name: 'record_dropped',
    text: `
      with input as (
        select * from json_to_recordset($1) as i (id bigint, created_at timestamptz, generation int, reason text)
      ), unqueued as (
        delete from webhook_queue where delivery_id = any($2)
      ), removed as (
        delete from webhook_deliveries d using input i
        where i.reason = 'webhook_gone' and d.id = i.id and d.created_at = i.created_at
      )
      update webhook_deliveries d set status = 'failed', last_error = i.reason, next_attempt_at = null
      from input i
      where i.reason <> 'webhook_gone' and d.id = i.id and d.created_at = i.created_at
        and d.status in ('pending', 'retrying') and d.generation = i.generation`,
    values: [JSON.stringify(rows), rows.map(({ id }) => id)],
  });
}

/** Turn off what has failed for too long; what follows from that is in the same transaction. */
async function disableDue(
  client: Queryable,
  changes: readonly WebhookChange[],
  { systemFrom: from, events }: RecordRules,
): Promise<WakeChannel[]> {
  const channels: WakeChannel[] = [];
  for (const { webhook, at } of changes.filter(({ disables }) => disables)) {
    const limit = { webhookId: webhook.id, asOf: at, from, events };
    channels.push(...((await disableWhereDue(client, limit)) ?? []));
  }
  return channels;
}

async function recordIn(
  client: Queryable,
  { made, dropped }: Recording,
  rules: RecordRules,
): Promise<Set<WakeChannel>> {
  const byId = new Map((await lockAttempted(client, made)).map((webhook) => [webhook.id, webhook]));
  const settled = made.map((each) => ({
    webhookId: each.due.webhookId,
    settlement: settle(each, byId.get(each.due.webhookId), rules.schedule),
  }));
  await recordSettlements(
    client,
    settled.map((each) => each.settlement),
  );
  await recordDropped(client, dropped);
  const madeOf = Map.groupBy(made, (each) => each.due.webhookId);
  const settledOf = Map.groupBy(settled, (each) => each.webhookId);
  const changes = [...byId.values()].flatMap((webhook) => {
    const retryTimes = settledOf.get(webhook.id)?.flatMap((each) => each.settlement.nextAttemptAt ?? []);
    return changeOf(webhook, madeOf.get(webhook.id) ?? [], retryTimes ?? []) ?? [];
  });
  await writeChanges(client, changes);
  const channels = new Set(await disableDue(client, changes, rules));
  const woken = changes.filter(({ wakeAt }) => wakeAt !== null).map(({ webhook }) => recoveryWake(webhook));
  await appendToOutbox(client, woken);
  return woken.length > 0 ? channels.add('outbox') : channels;
}

/**
 * Record attempts with all that follows from them in one transaction: deliveries, attempt rows, the webhooks'
 * health, the end of the queue rows, the outbox row that wakes a recovery, and the end of a webhook that has failed
 * for three days.
 * @returns what to wake
 */
export async function recordAttempts(
  pool: pg.Pool,
  recording: Recording,
  rules: RecordRules,
): Promise<Set<WakeChannel>> {
  return inTransaction(pool, (client) => recordIn(client, recording, rules));
}
