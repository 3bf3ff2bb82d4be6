import type pg from 'pg';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import type { WakeChannel } from '../../../platform/db/wake.ts';
import type { EventPublisher } from '../../../platform/events/publish.ts';
import { appendToOutbox } from '../../../platform/outbox/append.ts';
import { recoveryWake } from '../workflow.ts';
import type { AttemptOutcome, DueDelivery } from './attempt.ts';
import { disableIfDue } from './failure-limits.ts';
import {
  changedBySuccess,
  changeOf,
  lockAttempted,
  unchangedSince,
  webhookIdsOf,
  writeChanges,
  type LockedWebhook,
  type MadeAttempt,
  type WebhookChange,
} from './health.ts';

/**
 * How long to wait for the next attempt.
 * @param schedule delays in seconds after the first, second … failed attempt (WEBHOOK_RETRY_SCHEDULE)
 * @param attempt number of the attempt that failed, from 1
 * @param retryAfterSeconds the endpoint's `Retry-After`: it can postpone the attempt to at most the
 *   delay of the next step
 * @returns seconds; null after the last step
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

/** A webhook delivery that is not attempted. `webhook_off`: its webhook is off, or was turned off since the event. */
export interface DroppedDelivery {
  due: Pick<DueDelivery, 'deliveryId' | 'createdAt' | 'generation'>;
  reason: 'webhook_off' | 'webhook_gone' | 'event_gone';
}

/** What one transaction records. */
export interface Recording {
  made: readonly MadeAttempt[];
  dropped: readonly DroppedDelivery[];
}

export interface RecordRules {
  /** WEBHOOK_RETRY_SCHEDULE. */
  schedule: readonly number[];
  /** Sender of the mail to the owners, see `systemSender`. */
  systemFrom: string;
  events: EventPublisher;
}

/** How an attempt changes its webhook delivery. */
interface AttemptRecord {
  deliveryId: number;
  createdAt: string;
  attempt: number;
  status: 'retrying' | 'delivered' | 'failed';
  nextAttemptAt: Date | null;
  lastError: string | null;
  /** Set if the webhook was turned off or on since. Then a failure does not end a retry that was requested later. */
  formerGeneration?: number;
  outcome: AttemptOutcome;
}

function attemptRecord(
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
 * Records attempts as facts: each once, even if another process owns the queue row by now. A success counts even if the
 * delivery was given up in the meantime; a failure never reverts a success.
 *
 * Do not add a range of `created_at`: the plan is cached, and would read all deliveries of the range instead of
 * looking up each by its key.
 */
const recordSql = (condition = 'true') => `
  input as (
    select * from json_to_recordset($1) as i (
      delivery_id bigint, created_at timestamptz, attempt smallint, former_generation int, status text,
      next_attempt_at timestamptz, last_error text, response_code smallint, started_at timestamptz, duration_ms int, error text, excerpt text)
    where ${condition}
  ), unqueued as (
    delete from webhook_queue where delivery_id = any($2) and ${condition}
  ), updated as (
    -- A retry that was requested since the webhook was turned on again still needs its own attempt.
    update webhook_deliveries d set attempt_count = greatest(d.attempt_count, i.attempt),
      status = case when d.generation > i.former_generation then d.status else i.status end,
      response_code = case when d.generation > i.former_generation then d.response_code
        else coalesce(i.response_code, d.response_code) end,
      next_attempt_at = case when d.generation > i.former_generation then d.next_attempt_at else i.next_attempt_at end,
      last_error = case when d.generation > i.former_generation then d.last_error else i.last_error end
    from input i
    where d.id = i.delivery_id and d.created_at = i.created_at
      and case i.status when 'delivered' then d.status <> 'delivered'
            else d.status in ('pending', 'retrying') and d.attempt_count < i.attempt end
    returning i.*
  ), attempts as (
    insert into webhook_attempts
      (delivery_id, created_at, attempt, started_at, duration_ms, response_code, error, response_excerpt)
    select delivery_id, created_at, attempt, started_at, duration_ms, response_code, error, excerpt from updated
    on conflict do nothing
  )`;

const recordMadeSql = `with ${recordSql()} select true as recorded`;

/** Records nothing if the row of one of the webhooks has to change. */
const recordSuccessesSql = `
  with changing as materialized (
    select 1 from webhooks where id = any($3::bigint[]) and ${changedBySuccess('$4')} limit 1
  ), ${recordSql('not exists (select 1 from changing)')}
  select not exists (select 1 from changing) as recorded`;

function toRow({ outcome, ...record }: AttemptRecord) {
  return {
    delivery_id: record.deliveryId,
    created_at: record.createdAt,
    attempt: record.attempt,
    former_generation: record.formerGeneration,
    status: record.status,
    next_attempt_at: record.nextAttemptAt,
    last_error: record.lastError,
    response_code: outcome.responseCode,
    started_at: outcome.startedAt,
    duration_ms: outcome.durationMs,
    error: outcome.error,
    excerpt: outcome.excerpt,
  };
}

async function recordMade(client: Queryable, records: readonly AttemptRecord[]): Promise<void> {
  if (records.length === 0) return;
  await client.query({ name: 'record_attempts', text: recordMadeSql, values: inputOf(records) });
}

function inputOf(records: readonly AttemptRecord[]): [string, number[]] {
  // One order for all processes, so that two that write the same deliveries cannot deadlock.
  const sorted = records.toSorted((one, other) => one.deliveryId - other.deliveryId);
  return [JSON.stringify(sorted.map(toRow)), sorted.map(({ deliveryId }) => deliveryId)];
}

/**
 * Records only successful attempts, in one statement: at a healthy endpoint, nothing else has to change.
 * @returns false if nothing was recorded because a webhook's row has to change, too
 */
async function recordSuccesses(
  client: Queryable,
  made: readonly MadeAttempt[],
  { schedule }: RecordRules,
): Promise<boolean> {
  const input = inputOf(made.map((attempt) => attemptRecord(attempt, undefined, schedule)));
  const { rows } = await client.query<{ recorded: boolean }>({
    name: 'record_successes',
    text: recordSuccessesSql,
    values: [...input, webhookIdsOf(made), unchangedSince(made)],
  });
  return rows[0]?.recorded ?? false;
}

/** A delivery of a removed webhook is deleted: it may have been written while the webhook was being removed. */
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

/** Turns off the webhooks that have failed for too long, in the transaction that records their attempts. */
async function disableDue(
  client: Queryable,
  changes: readonly WebhookChange[],
  { systemFrom: from, events }: RecordRules,
): Promise<WakeChannel[]> {
  const channels: WakeChannel[] = [];
  for (const { webhook, at } of changes.filter(({ disables }) => disables)) {
    const check = { webhookId: webhook.id, asOf: at, from, events };
    channels.push(...((await disableIfDue(client, check)) ?? []));
  }
  return channels;
}

async function recordIn(
  client: Queryable,
  { made, dropped }: Recording,
  rules: RecordRules,
): Promise<Set<WakeChannel>> {
  const webhooks = new Map((await lockAttempted(client, made)).map((webhook) => [webhook.id, webhook]));
  const records = made.map((attempt) => {
    const { webhookId } = attempt.due;
    return { webhookId, record: attemptRecord(attempt, webhooks.get(webhookId), rules.schedule) };
  });
  await recordMade(
    client,
    records.map(({ record }) => record),
  );
  await recordDropped(client, dropped);
  const attemptsOf = Map.groupBy(made, ({ due }) => due.webhookId);
  const recordsOf = Map.groupBy(records, ({ webhookId }) => webhookId);
  const changes = [...webhooks.values()].flatMap((webhook) => {
    const retryTimes = recordsOf.get(webhook.id)?.flatMap(({ record }) => record.nextAttemptAt ?? []);
    return changeOf(webhook, attemptsOf.get(webhook.id) ?? [], retryTimes ?? []) ?? [];
  });
  await writeChanges(client, changes);
  const channels = new Set(await disableDue(client, changes, rules));
  const wakes = changes.filter(({ wakeAt }) => wakeAt !== null).map(({ webhook }) => recoveryWake(webhook));
  await appendToOutbox(client, wakes);
  return wakes.length > 0 ? channels.add('outbox') : channels;
}

/**
 * Records attempts and all their consequences in one transaction: webhook deliveries, attempt rows, the webhooks'
 * health, the removal of the queue rows, outbox rows that wake recovery workflows, and the turning off of webhooks that
 * have failed for three days.
 * @returns channels to wake after the commit
 */
export async function recordAttempts(
  pool: pg.Pool,
  recording: Recording,
  rules: RecordRules,
): Promise<Set<WakeChannel>> {
  const { made, dropped } = recording;
  const allDelivered = dropped.length === 0 && made.every(({ outcome }) => outcome.delivered);
  if (allDelivered && (await recordSuccesses(pool, made, rules))) return new Set();
  return inTransaction(pool, (client) => recordIn(client, recording, rules));
}
