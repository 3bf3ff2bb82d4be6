import { exactTime, type Queryable } from '../../../platform/db/queryable.ts';
import type { WebhookDelivery } from '../attempts/attempt.ts';

/** The due retries of a webhook, the longest overdue first. */
export async function findDueRetries(
  client: Queryable,
  webhookId: number,
  asOf: Date,
  limit: number,
): Promise<WebhookDelivery[]> {
  const { rows } = await client.query<WebhookDelivery>(
    `select d.id as "deliveryId", ${exactTime('d.created_at')} as "createdAt", d.webhook_id as "webhookId",
       d.generation, d.attempt_count + 1 as attempt, d.event_id as "eventId", e.type,
       e.occurred_at as "occurredAt", e.data::text as data
     from webhook_deliveries d left join events e on e.id = d.event_id and e.created_at = d.created_at
     where d.webhook_id = $1 and d.next_attempt_at <= $2
     order by d.next_attempt_at, d.id limit $3`,
    [webhookId, asOf, limit],
  );
  return rows;
}

export interface WaitingRetries {
  /** Counted up to 10,000. */
  count: number;
  nextAttemptAt: Date | null;
}

export async function summarizeRetries(client: Queryable, webhookId: number): Promise<WaitingRetries> {
  const { rows } = await client.query<WaitingRetries>(
    `select count(*) as count, min(next_attempt_at) as "nextAttemptAt" from (
       select next_attempt_at from webhook_deliveries where webhook_id = $1 and next_attempt_at is not null
       order by next_attempt_at limit 10000) waiting`,
    [webhookId],
  );
  return rows[0] ?? { count: 0, nextAttemptAt: null };
}

/** When the next retry is due, which may be in the past; null if none is waiting. */
export async function findNextRetry(client: Queryable, webhookId: number): Promise<Date | null> {
  const { rows } = await client.query<{ at: Date }>(
    `select next_attempt_at as at from webhook_deliveries where webhook_id = $1 and next_attempt_at is not null
     order by next_attempt_at limit 1`,
    [webhookId],
  );
  return rows[0]?.at ?? null;
}

/**
 * Ends retries of events that occurred before the webhook was last turned on; all retries if it is off.
 * @returns the number of retries ended
 */
export async function endObsoleteRetries(
  client: Queryable,
  webhookId: number,
  limit: number,
): Promise<number> {
  const { rowCount } = await client.query(
    `update webhook_deliveries d set status = 'failed', last_error = 'webhook_off', next_attempt_at = null
     from (
       select w.id, w.enabled, w.generation, r.id as delivery_id, r.created_at
       from webhooks w join webhook_deliveries r on r.webhook_id = w.id and r.next_attempt_at is not null
       where w.id = $1 and (not w.enabled or r.generation <> w.generation) limit $2
     ) obsolete
     where d.id = obsolete.delivery_id and d.created_at = obsolete.created_at and d.next_attempt_at is not null`,
    [webhookId, limit],
  );
  return rowCount ?? 0;
}

/**
 * Makes all waiting retries of a webhook due. Like everything that changes deliveries, it locks the webhook first.
 * @param trx the caller's transaction
 * @returns the number of retries brought forward
 */
export async function hastenRetries(trx: Queryable, webhookId: number, asOf: Date): Promise<number> {
  await trx.query('select 1 from webhooks where id = $1 for no key update', [webhookId]);
  const { rowCount } = await trx.query(
    'update webhook_deliveries set next_attempt_at = $2 where webhook_id = $1 and next_attempt_at > $2',
    [webhookId, asOf],
  );
  return rowCount ?? 0;
}
