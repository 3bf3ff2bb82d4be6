/**
 * Counts once what happened to messages before changes were recorded. Each message is counted by one of two sources, and
 * one statement decides which: it reads a page of messages and their changes in one snapshot, counts the messages, drops
 * these changes, and moves `reached_id` past the page. A fact that it has not seen is recorded by a statement whose change
 * it has not seen either. That change stays, and is folded once `reached_id` has passed it.
 */
import type pg from 'pg';
import { slotSql, sourceSql, statTimes } from '../../delivery/ledger/effects/stat-changes.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import type { HousekeepingTask } from '../../platform/housekeeping/task.ts';

const MESSAGES_AT_ONCE = 5_000;

interface Page {
  after: number;
  last: number;
}

/** Locks the position, and finds the next page. @returns null if every message is counted */
async function nextPage(client: pg.PoolClient, atOnce: number): Promise<Page | null> {
  const { rows } = await client.query<{ after: number; end: number }>(
    'select reached_id as after, last_id as "end" from older_stats for update',
  );
  const position = rows[0];
  if (!position || position.after >= position.end) return null;
  const { after, end } = position;
  const page = await client.query<{ last: number | null }>(
    `select max(id) as last from (
       select id from messages where id > $1 and id <= $2 order by id limit $3) m`,
    [after, end, atOnce],
  );
  return { after, last: page.rows[0]?.last ?? end };
}

/**
 * SQL: bounces and complaints of the page whose times no column has yet. Their earliest event is the one that counted; if
 * it is lost, the time of the hand-over is close to it.
 */
const untimedSql = `
    select m.id,
      case when m.bounce is not null and m.bounced_at is null then coalesce(
        min(e.occurred_at) filter (where e.type = 'bounced'), m.sent_at, m.created_at) end as bounced_at,
      case when m.status = 'complained' and m.complained_at is null then coalesce(
        min(e.occurred_at) filter (where e.type = 'complained'), m.sent_at, m.created_at) end as complained_at
    from messages m left join message_events e
      on e.message_id = m.id and e.message_id > $1 and e.message_id <= $2 and e.type in ('bounced', 'complained')
    where m.id > $1 and m.id <= $2
      and (m.bounce is not null and m.bounced_at is null or m.status = 'complained' and m.complained_at is null)
    group by m.id, m.bounce, m.bounced_at, m.status, m.complained_at, m.sent_at, m.created_at`;

const times = Object.entries(statTimes).map(
  ([name, column]) =>
    `('${name}', ${column === 'bounced_at' || column === 'complained_at' ? `coalesce(m.${column}, u.${column})` : `m.${column}`})`,
);

const countSql = `
  with untimed as materialized (${untimedSql}
  ), timed as (
    update messages m set bounced_at = coalesce(m.bounced_at, u.bounced_at),
      complained_at = coalesce(m.complained_at, u.complained_at)
    from untimed u where m.id = u.id and m.id > $1 and m.id <= $2
  ), counted_before as (
    delete from stat_changes where message_id > $1 and message_id <= $2
  ), counted as (
    insert into stat_changes (brand_id, slot, source, channel, name, count)
    select m.brand_id, ${slotSql('f.at')}, ${sourceSql('m.class')}, m.channel, f.name, count(*)
    from messages m left join untimed u on u.id = m.id
    cross join lateral (values ${times.join(', ')}) as f (name, at)
    where m.id > $1 and m.id <= $2 and not m.test and f.at is not null group by 1, 2, 3, 4, 5
  )
  update older_stats set reached_id = $2`;

/**
 * Counts the next page.
 * @param atOnce the maximum number of messages
 * @returns whether there was one
 */
export async function countOlderMessages(pool: pg.Pool, atOnce = MESSAGES_AT_ONCE): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const page = await nextPage(client, atOnce);
    if (!page) return false;
    // Locked before the statement that counts, so that its snapshot has the times that another statement has just set.
    await client.query(
      `select m.id from messages m where m.id in (select id from (${untimedSql}) u) and m.id > $1
      and m.id <= $2 order by m.id for no key update`,
      [page.after, page.last],
    );
    await client.query(countSql, [page.after, page.last]);
    return true;
  });
}

/** Continues where it stopped, until every older message is counted. @returns the number of pages */
export const olderMessages: HousekeepingTask = {
  name: 'older_stats',
  async run({ database: { pool } }, _asOf, progress) {
    let pages = 0;
    for (; await countOlderMessages(pool); pages += 1) progress();
    return pages;
  },
};
