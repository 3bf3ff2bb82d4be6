import type pg from 'pg';
import { slotSql, sourceSql, statTimes } from '../../delivery/ledger/effects/stat-changes.ts';
import { firstMessageId } from '../../delivery/ledger/upkeep/message-ranges.ts';
import { inTransaction, onClient, type Queryable } from '../../platform/db/queryable.ts';
import { daysBefore, type HousekeepingTask } from '../../platform/housekeeping/task.ts';
import { figureNames } from './figures.ts';

const COMPARE_HOUR = 3;
const COMPARED_DAYS = 7;
const BRANDS_PER_PAGE = 1_000;
/** A statement may take longer than the activity's heartbeat time-out. */
const PROGRESS_MS = 15_000;

const times = Object.entries(statTimes).map(([name, column]) => `('${name}', m.${column})`);

/** SQL: everything that was counted for the brand `$1` since `$2`, as negative numbers, and everything that happened. */
const differencesSql = `
  insert into stat_changes (brand_id, slot, source, channel, name, count)
  select $1, slot, source, channel, name, sum(count) from (
    select slot, source, channel, v.name, -v.count as count from stat_counts c
    cross join lateral (values ${figureNames.map((name) => `('${name}', c.${name})`).join(', ')}) as v (name, count)
    where c.brand_id = $1 and c.slot >= $2
    union all
    select slot, source, channel, name, -count from stat_changes where brand_id = $1 and slot >= $2
    union all
    select ${slotSql('f.at')}, ${sourceSql('m.class')}, m.channel, f.name, count(*)
    from messages m cross join lateral (values ${times.join(', ')}) as f (name, at)
    where m.brand_id = $1 and not m.test and f.at >= $2
      and greatest(${Object.values(statTimes)
        .map((column) => `m.${column}`)
        .join(', ')}) >= $2
    group by 1, 2, 3, 4
  ) all_of_them group by 1, 2, 3, 4, 5 having sum(count) <> 0 returning name, count`;

/**
 * Counts what happened to the messages of a brand since a time, and adds the differences from its figures as changes. One
 * statement reads messages, counts and changes in one snapshot, and changes add up, so nothing else has to wait. Only two
 * processes that compare at the same time must not both add the differences.
 * @returns the number of differences
 */
async function compareBrand(pool: pg.Pool, brandId: number, since: Date): Promise<number> {
  return inTransaction(pool, async (client) => {
    await client.query(`set local statement_timeout = '20min'`);
    // A separate statement, so that the next one sees what another process added while it had the lock.
    await client.query(`select pg_advisory_xact_lock(hashtextextended('stats ' || $1, 0))`, [
      String(brandId),
    ]);
    const { rowCount } = await client.query(differencesSql, [brandId, since]);
    return rowCount ?? 0;
  });
}

/**
 * Finds from when on figures can be compared: messages of that time may have been dropped before. A message that is not
 * counted yet would be a difference.
 * @returns null if older messages are not counted yet
 */
async function comparableSince(pool: pg.Pool, asOf: Date): Promise<Date | null> {
  const first = await onClient(pool, firstMessageId);
  const { rows } = await pool.query<{ since: Date }>(
    `update older_stats set first_id = $1,
       complete_since = case when first_id < $1 then $2::timestamptz + interval '15 minutes' else complete_since end
     where reached_id >= last_id returning ${slotSql('greatest(complete_since, $3::timestamptz)')} as since`,
    [first, asOf, daysBefore(asOf, COMPARED_DAYS)],
  );
  return rows[0]?.since ?? null;
}

/** The next brands of customers with figures, or with messages, since that time. */
async function nextBrands(db: Queryable, after: number, since: Date): Promise<number[]> {
  const { rows } = await db.query<{ id: number }>(
    `select b.id from brands b join accounts a on a.id = b.account_id
     where b.id > $1 and a.kind <> 'system' and (
       exists (select 1 from stat_hours h where h.brand_id = b.id and h.slot >= $2)
       or exists (select 1 from stat_changes h where h.brand_id = b.id and h.slot >= $2)
       or (select m.created_at from messages m where m.brand_id = b.id order by m.id desc limit 1) >= $2)
     order by b.id limit ${BRANDS_PER_PAGE}`,
    [after, since],
  );
  return rows.map(({ id }) => id);
}

/** Compares the figures of the last days with the messages once a night. @returns the number of brands that differed */
export const statsComparison: HousekeepingTask = {
  name: 'stats_comparison',
  async run({ database: { pool }, log }, asOf, progress) {
    if (asOf.getUTCHours() !== COMPARE_HOUR) return 0;
    const since = await comparableSince(pool, asOf);
    if (!since) return 0;
    const timer = setInterval(progress, PROGRESS_MS);
    let mended = 0;
    try {
      for (let brands = await nextBrands(pool, 0, since); brands.length > 0;) {
        for (const brandId of brands) {
          const differences = await compareBrand(pool, brandId, since);
          if (differences === 0) continue;
          mended += 1;
          log.warn({ brand_id: brandId, differences }, 'figures over time corrected');
        }
        brands = await nextBrands(pool, brands.at(-1) ?? 0, since);
      }
    } finally {
      clearInterval(timer);
    }
    return mended;
  },
};
