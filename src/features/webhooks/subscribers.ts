import type { Queryable } from '../../platform/db/queryable.ts';
import type { EventType } from './catalogue.ts';

/** Something that happened, for whoever subscribed to it. */
export interface PublishedEvent {
  accountId: number;
  /** Null for what concerns the whole account: it reaches the webhooks of every brand. */
  brandId: number | null;
  type: EventType;
  occurredAt: Date;
  data: Record<string, unknown>;
}

interface Subscription {
  accountId: number;
  brandId: number;
  events: string[];
}

/** One index look-up for most calls: there is rarely more than one brand in them, and often no webhook. */
async function findSubscriptions(
  client: Queryable,
  events: readonly PublishedEvent[],
): Promise<Subscription[]> {
  const brands = new Set(events.flatMap((event) => event.brandId ?? []));
  const accounts = new Set(events.flatMap((event) => (event.brandId === null ? event.accountId : [])));
  const { rows } = await client.query<Subscription>({
    name: 'find_subscriptions',
    text: `select account_id as "accountId", brand_id as "brandId", events from webhooks
           where enabled and (brand_id = any($1::bigint[]) or account_id = any($2::bigint[]))`,
    values: [[...brands], [...accounts]],
  });
  return rows;
}

function heard(event: PublishedEvent, subscriptions: readonly Subscription[]): boolean {
  return subscriptions.some(
    (subscription) =>
      (event.brandId === null
        ? subscription.accountId === event.accountId
        : subscription.brandId === event.brandId) && subscription.events.includes(event.type),
  );
}

/**
 * Webhooks that are on and subscribed are resolved here, with their generation, and never again: one that is
 * switched on a moment later hears nothing of it. Event and deliveries have the same `created_at`.
 */
const insertSql = `
  with input as materialized (
    select gen_random_uuid() as id, i.* from json_to_recordset($1) as i (
      n int, account_id bigint, brand_id bigint, type text, occurred_at timestamptz, data json)
  ), matched as materialized (
    select i.n, i.id as event_id, i.type, w.id as webhook_id, w.generation
    from input i join webhooks w
      on w.enabled and i.type = any(w.events) and w.brand_id = i.brand_id
    union all
    select i.n, i.id, i.type, w.id, w.generation
    from input i join webhooks w
      on w.enabled and i.type = any(w.events) and i.brand_id is null and w.account_id = i.account_id
  ), told as (
    insert into events (id, account_id, brand_id, type, occurred_at, data)
    select id, account_id, brand_id, type, occurred_at, data from input
    where id in (select event_id from matched)
  ), made as (
    insert into webhook_deliveries (webhook_id, event_id, type, generation)
    select webhook_id, event_id, type, generation from matched order by n, webhook_id
    returning id, created_at, webhook_id, event_id, generation
  )
  insert into webhook_queue (delivery_id, created_at, webhook_id, event_id, generation)
  select id, created_at, webhook_id, event_id, generation from made`;

function toRow(event: PublishedEvent, n: number) {
  return {
    n,
    account_id: event.accountId,
    brand_id: event.brandId,
    type: event.type,
    occurred_at: event.occurredAt,
    data: event.data,
  };
}

/**
 * Write events that someone listens to, with the deliveries and the queue rows that follow from them, as part of
 * the caller's transaction. Call `waker.wake('webhook')` after the commit where `deliveries` is above zero.
 * @param client inside the caller's transaction
 */
export async function publishEvents(
  client: Queryable,
  events: readonly PublishedEvent[],
): Promise<{ deliveries: number }> {
  if (events.length === 0) return { deliveries: 0 };
  const subscriptions = await findSubscriptions(client, events);
  const told = events.filter((event) => heard(event, subscriptions));
  if (told.length === 0) return { deliveries: 0 };
  const { rowCount } = await client.query({
    name: 'publish_events',
    text: insertSql,
    values: [JSON.stringify(told.map(toRow))],
  });
  return { deliveries: rowCount ?? 0 };
}
