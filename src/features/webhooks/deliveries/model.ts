import type { Tenant } from '../../../platform/auth/tenant.ts';
import { countRows, type Page, type RowCount } from '../../../platform/db/paging.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { SentEvent } from '../attempts/attempt.ts';
import type { EventType } from '../catalogue.ts';
import {
  type DeliveryFilters,
  type DeliveryResource,
  MAX_RETRIED,
  type RetriedDeliveries,
} from './schema.ts';

export interface DeliveryRow {
  id: number;
  webhook_id: number;
  event_id: string;
  type: EventType;
  status: DeliveryResource['status'];
  response_code: number | null;
  attempt_count: number;
  next_attempt_at: Date | null;
  last_error: string | null;
  test: boolean;
  created_at: Date;
}

export interface AttemptRow {
  attempt: number;
  started_at: Date;
  duration_ms: number;
  response_code: number | null;
  error: string | null;
  response_excerpt: string | null;
}

const columns =
  'id, webhook_id, event_id, type, status, response_code, attempt_count, next_attempt_at, last_error, test, created_at';

/** Webhook deliveries are visible for 7 days (interface §6.5), even if their partition is dropped later. */
const visible = `created_at > now() - interval '7 days'`;

interface Where {
  sql: string;
  values: unknown[];
}

function where(webhookId: number, { status, type }: DeliveryFilters): Where {
  const values: unknown[] = [webhookId];
  const parts = ['webhook_id = $1', visible];
  if (status !== undefined) parts.push(`status = $${values.push(status)}`);
  // Repeats the condition in the form that the index on waiting retries has.
  if (status === 'retrying') parts.push('next_attempt_at is not null');
  if (type !== undefined) parts.push(`type = $${values.push(type)}`);
  return { sql: parts.join(' and '), values };
}

/** One page of a webhook's deliveries, newest first. @param webhookId a webhook of the tenant */
export async function findDeliveries(
  client: Queryable,
  webhookId: number,
  filters: DeliveryFilters,
  page: Page,
): Promise<DeliveryRow[]> {
  const { sql, values } = where(webhookId, filters);
  const after = page.after === null ? '' : `and id < ${page.after}`;
  const { rows } = await client.query<DeliveryRow>(
    `select ${columns} from webhook_deliveries where ${sql} ${after}
     order by id desc limit ${page.limit} offset ${page.offset}`,
    values,
  );
  return rows;
}

/** @param webhookId a webhook of the tenant */
export function countDeliveries(
  client: Queryable,
  webhookId: number,
  filters: DeliveryFilters,
): Promise<RowCount> {
  const { sql, values } = where(webhookId, filters);
  return countRows(client, `webhook_deliveries where ${sql}`, values);
}

/** @param webhookId a webhook of the tenant */
export async function findDelivery(
  client: Queryable,
  webhookId: number,
  id: number,
): Promise<DeliveryRow | null> {
  const { rows } = await client.query<DeliveryRow>(
    `select ${columns} from webhook_deliveries where webhook_id = $1 and id = $2 and ${visible}`,
    [webhookId, id],
  );
  return rows[0] ?? null;
}

/** The attempts of a webhook delivery, oldest first. @param webhookId a webhook of the tenant */
export async function findAttempts(client: Queryable, webhookId: number, id: number): Promise<AttemptRow[]> {
  const { rows } = await client.query<AttemptRow>(
    `select a.attempt, a.started_at, a.duration_ms, a.response_code, a.error, a.response_excerpt
     from webhook_deliveries d
     join webhook_attempts a on a.created_at = d.created_at and a.delivery_id = d.id
     where d.webhook_id = $1 and d.id = $2 and d.${visible} order by a.attempt`,
    [webhookId, id],
  );
  return rows;
}

/**
 * The event of a webhook delivery, as it is sent.
 * @param delivery of a webhook of the tenant
 * @returns null if the event is no longer kept
 */
export async function findSentEvent(
  client: Queryable,
  { webhook_id: webhookId, id }: DeliveryRow,
): Promise<SentEvent | null> {
  const { rows } = await client.query<SentEvent>(
    `select e.type, e.occurred_at as "occurredAt", e.data::text as data
     from webhook_deliveries d join events e on e.id = d.event_id and e.created_at = d.created_at
     where d.webhook_id = $1 and d.id = $2 and d.${visible}`,
    [webhookId, id],
  );
  return rows[0] ?? null;
}

export interface TestEvent {
  type: EventType;
  occurredAt: Date;
  data: Record<string, unknown>;
}

/**
 * Writes an event for one webhook only, with its webhook delivery and queue row, whatever the webhook is subscribed to.
 * @param client inside the caller's transaction
 * @returns null if the webhook is off or does not exist
 */
export async function insertTestDelivery(
  client: Queryable,
  tenant: Tenant,
  webhookId: number,
  { type, occurredAt, data }: TestEvent,
): Promise<DeliveryRow | null> {
  const { rows } = await client.query<DeliveryRow>(
    `with webhook as materialized (
       select id, account_id, brand_id, generation, gen_random_uuid() as event_id from webhooks
       where id = $1 and account_id = $2 and brand_id = $3 and enabled
     ), new_event as (
       insert into events (id, account_id, brand_id, type, occurred_at, data)
       select event_id, account_id, brand_id, $4, $5, $6 from webhook
     ), new_delivery as (
       insert into webhook_deliveries (webhook_id, event_id, type, generation, test)
       select id, event_id, $4, generation, true from webhook
       returning ${columns}, generation
     ), queued as (
       insert into webhook_queue (delivery_id, created_at, webhook_id, event_id, generation)
       select id, created_at, webhook_id, event_id, generation from new_delivery
     )
     select ${columns} from new_delivery`,
    [webhookId, tenant.accountId, tenant.brandId, type, occurredAt, JSON.stringify(data)],
  );
  return rows[0] ?? null;
}

/**
 * Makes a webhook delivery due, and gives it the webhook's current generation.
 * @param client inside a transaction that has locked the webhook
 * @returns null if its first attempt has not been made yet
 */
export async function makeDue(
  client: Queryable,
  delivery: Pick<DeliveryRow, 'id' | 'webhook_id'>,
  generation: number,
): Promise<DeliveryRow | null> {
  const { rows } = await client.query<DeliveryRow>(
    `update webhook_deliveries
     set status = 'retrying', next_attempt_at = least(next_attempt_at, now()), generation = $3
     where webhook_id = $1 and id = $2 and ${visible} and status <> 'pending'
     returning ${columns}`,
    [delivery.webhook_id, delivery.id, generation],
  );
  return rows[0] ?? null;
}

/**
 * Makes finished deliveries of a webhook due, the oldest first, and gives them the webhook's current generation.
 * @param client inside a transaction that has locked the webhook
 * @param maxAttempts deliveries with this many attempts stay unchanged
 * @returns the number of deliveries, at most {@link MAX_RETRIED}
 */
export async function makeAllDue(
  client: Queryable,
  webhook: { id: number; generation: number },
  { status, since, until, type }: RetriedDeliveries,
  maxAttempts: number,
): Promise<number> {
  const { rowCount } = await client.query(
    `with chosen as materialized (
       select id, created_at from webhook_deliveries
       where webhook_id = $1 and status = $3 and created_at >= coalesce($4::timestamptz, '-infinity') and created_at < coalesce($5::timestamptz, 'infinity')
         and ($6::text is null or type = $6) and attempt_count < $7 and ${visible}
       order by id limit ${MAX_RETRIED} for no key update
     )
     update webhook_deliveries d set status = 'retrying', next_attempt_at = now(), generation = $2
     from chosen c where d.created_at = c.created_at and d.id = c.id`,
    [webhook.id, webhook.generation, status, since ?? null, until ?? null, type ?? null, maxAttempts],
  );
  return rowCount ?? 0;
}
