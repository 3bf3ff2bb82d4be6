import type { Queryable } from '../db/queryable.ts';
import type { WakeChannel } from '../db/wake.ts';
import type { PublishedEvent } from './define.ts';

/**
 * A feature that acts on events, such as webhooks. Its SQL becomes part of the publisher's statements, so that an event
 * and the work that follows from it are written together, whatever the number of consumers.
 */
export interface EventConsumer {
  /** Woken after the commit if work was queued. */
  channel: WakeChannel;
  /**
   * Selects `account_id, brand_id, types` of everything that wants events now. It is run for every batch of messages
   * that a sender records: rows must be found by an index on the brand, and by one on the account.
   */
  subscriptionsSql: string;
  /**
   * Common table expressions that queue the work. They read `input (n, id, account_id, brand_id, type, occurred_at, data)`:
   * the events, numbered in the order in which they were published.
   */
  queueSql: string;
  /** Which of these expressions has a row, with `event_id`, for each piece of work. */
  workTable: string;
}

/** How much work was queued, by the channel to wake after the commit. */
export type QueuedWork = ReadonlyMap<WakeChannel, number>;

export interface EventPublisher {
  /**
   * SQL condition that is true if a consumer may want events of a brand, so that statements need not return what
   * would be published in vain.
   * @param brandId a trusted SQL expression
   */
  interestSql(brandId: string): string;
  /**
   * Writes the events that a consumer wants, and the work that follows from them, in the caller's transaction.
   * After the commit, wake the channels that are returned.
   * @param client inside the caller's transaction
   */
  publish(client: Queryable, events: readonly PublishedEvent[]): Promise<QueuedWork>;
}

interface Subscription {
  accountId: number;
  brandId: number;
  types: string[];
}

const nothing: QueuedWork = new Map();

function findSql(consumers: readonly EventConsumer[]): string {
  const all = consumers.map(({ subscriptionsSql }) => subscriptionsSql).join(' union all ');
  return `
    select account_id as "accountId", brand_id as "brandId", types from (${all}) subscriptions
    where brand_id = any($1::bigint[]) or account_id = any($2::bigint[])`;
}

/** One index look-up for most calls: their events are rarely of more than one brand, and often nothing wants them. */
async function findSubscriptions(
  client: Queryable,
  text: string,
  events: readonly PublishedEvent[],
): Promise<Subscription[]> {
  const brands = new Set(events.flatMap((event) => event.brandId ?? []));
  const accounts = new Set(events.flatMap((event) => (event.brandId === null ? event.accountId : [])));
  const values = [[...brands], [...accounts]];
  const { rows } = await client.query<Subscription>({ name: 'find_subscriptions', text, values });
  return rows;
}

function isWanted(event: PublishedEvent, subscriptions: readonly Subscription[]): boolean {
  return subscriptions.some(
    (subscription) =>
      (event.brandId === null
        ? subscription.accountId === event.accountId
        : subscription.brandId === event.brandId) && subscription.types.includes(event.type),
  );
}

/** The consumers decide once more, by what their tables contain now, which events are written. */
function publishSql(consumers: readonly EventConsumer[]): string {
  const wanted = consumers.map(({ workTable }) => `select event_id from ${workTable}`);
  const counts = consumers.map(({ workTable }) => `(select count(*) from ${workTable})`);
  return `
  with input as materialized (
    select gen_random_uuid() as id, i.* from json_to_recordset($1) as i (
      n int, account_id bigint, brand_id bigint, type text, occurred_at timestamptz, data json)
  ), ${consumers.map(({ queueSql }) => queueSql).join(', ')}, written as (
    insert into events (id, account_id, brand_id, type, occurred_at, data)
    select id, account_id, brand_id, type, occurred_at, data from input
    where id in (${wanted.join(' union all ')})
  )
  select array[${counts.join(', ')}]::int[] as counts`;
}

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

function queuedWork(consumers: readonly EventConsumer[], counts: readonly number[]): QueuedWork {
  const queued = new Map<WakeChannel, number>();
  for (const [index, { channel }] of consumers.entries()) {
    const count = (queued.get(channel) ?? 0) + (counts[index] ?? 0);
    if (count > 0) queued.set(channel, count);
  }
  return queued;
}

/** @param consumers at least one */
export function createEventPublisher(consumers: readonly EventConsumer[]): EventPublisher {
  const findText = findSql(consumers);
  const publishText = publishSql(consumers);
  return {
    interestSql(brandId) {
      const conditions = consumers.map(
        ({ subscriptionsSql }) =>
          `exists (select 1 from (${subscriptionsSql}) subscriptions where brand_id = ${brandId})`,
      );
      return `(${conditions.join(' or ')})`;
    },
    async publish(client, events) {
      if (events.length === 0) return nothing;
      const subscriptions = await findSubscriptions(client, findText, events);
      const wanted = events.filter((event) => isWanted(event, subscriptions));
      if (wanted.length === 0) return nothing;
      const { rows } = await client.query<{ counts: number[] }>({
        name: 'publish_events',
        text: publishText,
        values: [JSON.stringify(wanted.map(toRow))],
      });
      return queuedWork(consumers, rows[0]?.counts ?? []);
    },
  };
}
