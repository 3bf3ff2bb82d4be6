import type pg from 'pg';
import { firstMessageId } from '../../delivery/ledger/upkeep/message-ranges.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import { batchTask, daysBefore, type HousekeepingTask } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';

const HOUR_MS = 3_600_000;
const BRANDS_PER_PAGE = 100;

/** The last UTC day that ended at least an hour ago: no more messages are committed into it. */
function lastClosedDay(asOf: Date): string {
  const day = new Date(asOf.getTime() - HOUR_MS);
  day.setUTCDate(day.getUTCDate() - 1);
  return day.toISOString().slice(0, 10);
}

/**
 * Counts the messages of closed days for one page of brands.
 *
 * Ids and creation times do not rise in exactly the same order. A message therefore belongs to the first day whose last
 * id is not below the message's id: the stored counts plus the rows after the last counted id include every message
 * exactly once. A brand without messages on the day gets a row only if it has newer messages, so that the next run need
 * not read these again.
 */
async function countPage(client: pg.PoolClient, afterBrandId: number, day: string) {
  const { rows } = await client.query<{ last_brand_id: number | null; counted: number }>(
    `with pending as (
       select b.id as brand_id, coalesce(known.last_id, 0) as last_id
       from brands b left join lateral (
         select c.day, c.last_id from message_daily_counts c where c.brand_id = b.id order by c.day desc limit 1
       ) known on true
       where b.id > $1 and (known.day is null or known.day < $2::date)
       order by b.id limit $3),
     dated as (
       select p.brand_id, m.id, min((m.created_at at time zone 'UTC')::date)
                                  over (partition by p.brand_id order by m.id desc) as day
       from pending p join messages m on m.brand_id = p.brand_id and m.id > p.last_id),
     days as (
       select brand_id, day, max(id) as last_id, count(*) as count from dated where day <= $2::date group by 1, 2),
     empty as (
       select p.brand_id, $2::date as day, p.last_id, 0 as count from pending p
       where exists (select 1 from messages m where m.brand_id = p.brand_id and m.id > p.last_id)
         and not exists (select 1 from days d where d.brand_id = p.brand_id)),
     inserted as (
       insert into message_daily_counts (brand_id, day, last_id, count)
       select * from days union all select * from empty
       on conflict (brand_id, day) do nothing returning 1)
     select (select max(brand_id) from pending) as last_brand_id, (select count(*) from inserted) as counted`,
    [afterBrandId, day, BRANDS_PER_PAGE],
  );
  return rows[0] ?? { last_brand_id: null, counted: 0 };
}

/** Stores the counts of closed days, so that the total of a list does not have to count every row. */
const messageDailyCounts: HousekeepingTask = {
  name: 'message_daily_counts',
  async run({ database }, asOf, progress) {
    const day = lastClosedDay(asOf);
    let total = 0;
    for (let brandId: number | null = 0; brandId !== null;) {
      const page = await inTransaction(database.pool, async (client) => {
        await client.query(`set local statement_timeout = '20min'`);
        return countPage(client, brandId ?? 0, day);
      });
      total += page.counted;
      brandId = page.last_brand_id;
      progress();
    }
    return total;
  },
};

/**
 * Deletes the counts of messages that retention has dropped. The day in which the first remaining message was accepted
 * is counted again.
 */
const expiredDailyCounts: HousekeepingTask = {
  name: 'expired_daily_counts',
  async run({ database }, _asOf, progress) {
    const firstId = await firstMessageId(database.pool);
    let total = 0;
    for (let brandId: number | null = -1; brandId !== null;) {
      const page: { last_brand_id: number | null; removed: number } = await forgetCounts(
        database.pool,
        brandId,
        firstId,
      );
      total += page.removed;
      brandId = page.last_brand_id;
      progress();
    }
    return total;
  },
};

async function forgetCounts(client: Queryable, afterBrandId: number, firstId: number) {
  const { rows } = await client.query<{ last_brand_id: number | null; removed: number }>(
    `with page as (
       select id as brand_id from brands where id > $1 order by id limit $3),
     expired as (
       select p.brand_id from page p cross join lateral (
         select c.last_id from message_daily_counts c where c.brand_id = p.brand_id order by c.day limit 1) oldest
       where oldest.last_id < $2),
     removed as (
       delete from message_daily_counts c using expired e
       where c.brand_id = e.brand_id and c.last_id < $2 returning 1),
     recounted as (
       update message_daily_counts c set count = (
         select count(*) from messages m where m.brand_id = c.brand_id and m.id between $2 and c.last_id)
       from expired e cross join lateral (
         select f.day from message_daily_counts f
         where f.brand_id = e.brand_id and f.last_id >= $2 order by f.day limit 1) first
       where c.brand_id = e.brand_id and c.day = first.day)
     select (select max(brand_id) from page) as last_brand_id, (select count(*) from removed) as removed`,
    [afterBrandId, firstId, BRANDS_PER_PAGE],
  );
  return rows[0] ?? { last_brand_id: null, removed: 0 };
}

const TEST_CONTENT_DAYS = 1;

/** Deletes the contents of messages that were sent with test keys, or were to be sent, more than a day ago. */
const testContents = batchTask(
  'test_contents',
  `with old as (
     delete from test_messages where message_id = any (array(
       select message_id from test_messages t
       where created_at < $1 and not exists (select from messages m where m.id = t.message_id and m.scheduled_at >= $1)
       limit $2 for update skip locked))
     returning message_id
   ), removed as (
     delete from message_contents where message_id = any (array(select message_id from old))
   ), letters as (
     delete from letters where id = any (array(select message_id from old))
   ), files as (
     delete from message_attachments where message_id = any (array(select message_id from old))
   )
   select message_id from old`,
  (_deps, asOf) => daysBefore(asOf, TEST_CONTENT_DAYS),
);

/** Deletes what became of batches whose idempotency keys are no longer kept. */
const messageBatches = batchTask(
  'message_batches',
  `delete from message_batches where id = any (array(
     select id from message_batches where kept_until < $1 limit $2 for update skip locked))`,
);

/** Deletes the Message-IDs of clients with the contents of their mail: replies then name the Message-IDs of Carillon. */
const messageAliases = batchTask(
  'message_aliases',
  `delete from message_aliases where ctid = any (array(
     select ctid from message_aliases where created_at < $1 limit $2 for update skip locked))`,
  ({ config }, asOf) => daysBefore(asOf, config.MESSAGE_CONTENT_RETENTION_DAYS),
);

export const messagesUpkeep: Upkeep = {
  tasks: [messageDailyCounts, expiredDailyCounts, testContents, messageBatches, messageAliases],
};
