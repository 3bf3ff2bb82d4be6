import type { Queryable } from '../db/queryable.ts';
import { defineStatement } from '../db/statements.ts';
import type { WakeChannel } from '../db/wake.ts';
import type { PublishedEvent } from './define.ts';

/**
 * A feature that acts on events, such as webhooks. Its SQL becomes part of the publisher's statements, so that an event
 * and the work that follows from it are written together, however many consumers there are.
 */
export interface EventConsumer {
  /** The channel to wake after the commit if work was queued. */
  channel: WakeChannel;
  /**
   * SQL: selects the `brand_id` of every row that wants events now. It runs for every batch of messages that a sender
   * records, so an index on the brand must find the rows.
   * @param type SQL: the type of the events; by default any type
   */
  subscriptionsSql(type?: string): string;
  /**
   * Common table expressions that queue the work. They read `new_events (n, id, account_id, brand_id, type,
   * occurred_at, data)`: the events, numbered in the order in which they are published.
   */
  queueSql: string;
  /** The one of these expressions that has a row, with `event_id`, for each piece of work. */
  workTable: string;
}

/** Number of queued pieces of work, by the channel to wake after the commit. */
export type QueuedWork = ReadonlyMap<WakeChannel, number>;

/**
 * SQL with which a statement publishes the events that follow from its own changes. This saves a round trip, and a
 * transaction around both. The statement defines the expression `new_events` and appends `ctes` to its own expressions.
 */
export interface Publication {
  /**
   * Returns a condition that is true if a consumer may want events of a brand.
   * @param brandId a trusted SQL expression
   * @param type the same, for the type of the events; by default any type
   */
  interest(brandId: string, type?: string): string;
  /** The type of the rows of `new_events`, as the column list of a table function. */
  columns: string;
  /** Expressions that read `new_events`, write the events that a consumer wants, and queue the work. */
  ctes: string;
  /** An expression that the statement must select, to pass its value to `queuedWork`. */
  counts: string;
  /** @param counts the value of that expression */
  queuedWork(counts: readonly number[]): QueuedWork;
}

export interface EventPublisher {
  publication: Publication;
  /**
   * Writes the events that a consumer wants, and the work that follows from them, in the caller's transaction. After
   * the commit, the caller must wake the returned channels.
   * @param client inside the caller's transaction
   */
  publish(client: Queryable, events: readonly PublishedEvent[]): Promise<QueuedWork>;
}

function publicationOf(consumers: readonly EventConsumer[]): Publication {
  const wanted = consumers.map(({ workTable }) => `select event_id from ${workTable}`);
  const counts = consumers.map(({ workTable }) => `(select count(*) from ${workTable})`);
  return {
    interest(brandId, type) {
      const conditions = consumers.map(
        (consumer) =>
          `exists (select 1 from (${consumer.subscriptionsSql(type)}) subscriptions where brand_id = ${brandId})`,
      );
      return `(${conditions.join(' or ')})`;
    },
    columns: 'n int, account_id bigint, brand_id bigint, type text, occurred_at timestamptz, data json',
    ctes: `${consumers.map(({ queueSql }) => queueSql).join(', ')}, written_events as (
      insert into events (id, account_id, brand_id, type, occurred_at, data)
      select id, account_id, brand_id, type, occurred_at, data from new_events
      -- "is true" makes this one look-up in a hash table for each event, never a join.
      where (id in (${wanted.join(' union all ')})) is true
    )`,
    counts: `array[${counts.join(', ')}]::int[]`,
    queuedWork: (queued) => queuedWork(consumers, queued),
  };
}

/** SQL that writes the events that are wanted now, according to the rows in the consumers' tables. */
function publishSql({ columns, ctes, counts }: Publication): string {
  return `
  with new_events as materialized (
    select gen_random_uuid() as id, i.* from json_to_recordset($1) as i (${columns})
  ), ${ctes}
  select ${counts} as counts`;
}

/** The event as a row of `new_events`, for JSON. @param n its number in the statement */
export function toEventRow(event: PublishedEvent, n: number) {
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

/** How events are published that no other statement publishes. */
export const publishStatement = defineStatement({
  from: import.meta.url,
  sentBy: 'createEventPublisher',
  does: 'Writes the events that a consumer wants, and queues the work that follows from them.',
  parameters: ['json: the events, numbered in the order in which they are published'],
  shapes: { publish_events: {} },
  compose: (_shape, { publication }: Pick<EventPublisher, 'publication'>) => publishSql(publication),
});

/** @param consumers at least one */
export function createEventPublisher(consumers: readonly EventConsumer[]): EventPublisher {
  const publication = publicationOf(consumers);
  const publisher: EventPublisher = {
    publication,
    async publish(client, events) {
      if (events.length === 0) return new Map();
      const { rows } = await client.query<{ counts: number[] }>({
        ...publishStatement.prepared('publish_events', publisher),
        values: [JSON.stringify(events.map(toEventRow))],
      });
      return publication.queuedWork(rows[0]?.counts ?? []);
    },
  };
  return publisher;
}
