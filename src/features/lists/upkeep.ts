import type pg from 'pg';
import { IDEMPOTENCY_DAYS } from '../../platform/db/idempotency.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import {
  batchTask,
  daysBefore,
  type HousekeepingDependencies,
  type HousekeepingTask,
} from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';
import type { CountSubject } from './counts.ts';

const RECONCILE_HOUR = 3;
const SUBJECTS_PER_PAGE = 1_000;

/** The subjects that have a count, and the rows that are counted. */
const subjects = {
  brand: { table: 'brands', members: 'contacts m where m.brand_id = $2' },
  list: { table: 'lists', members: 'list_members m where m.list_id = $2' },
} as const satisfies Record<CountSubject, { table: string; members: string }>;

/**
 * Counts the rows of one subject, and adds the difference from its stored count as a change. One statement reads rows,
 * counter and changes in one snapshot, and changes add up, so writers need not wait. Only two processes that reconcile
 * at the same time must not both add the difference.
 * @returns the difference
 */
async function reconcile(pool: pg.Pool, subject: CountSubject, id: number): Promise<number> {
  return inTransaction(pool, async (client) => {
    await client.query(`set local statement_timeout = '20min'`);
    // A separate statement, so that the next one sees what another process added while it had the lock.
    await client.query(
      `select pg_advisory_xact_lock(hashtextextended('contact count ' || $1 || ' ' || $2, 0))`,
      [subject, String(id)],
    );
    const { rows } = await client.query<{ change: number }>(
      `with counted as (
         select (select count(*) from ${subjects[subject].members})
           - coalesce((select count from audience_counts c where c.subject = $1 and c.id = $2), 0)
           - coalesce((select sum(change) from audience_count_changes c where c.subject = $1 and c.id = $2), 0)
           as change
       )
       insert into audience_count_changes (subject, id, change)
       select $1, $2, change from counted where change <> 0 returning change`,
      [subject, id],
    );
    return rows[0]?.change ?? 0;
  });
}

async function nextIds(db: Queryable, table: string, after: number): Promise<number[]> {
  const { rows } = await db.query<{ id: number }>(
    `select id from ${table} where id > $1 order by id limit $2`,
    [after, SUBJECTS_PER_PAGE],
  );
  return rows.map((row) => row.id);
}

async function reconcileAll(
  { database: { pool }, log }: HousekeepingDependencies,
  subject: CountSubject,
  progress: () => void,
): Promise<number> {
  let mended = 0;
  let after = 0;
  for (;;) {
    const ids = await nextIds(pool, subjects[subject].table, after);
    for (const id of ids) {
      const difference = await reconcile(pool, subject, id);
      progress();
      if (difference === 0) continue;
      mended += 1;
      log.warn({ subject, id, difference }, 'count of contacts corrected');
    }
    after = ids.at(-1) ?? 0;
    if (ids.length < SUBJECTS_PER_PAGE) return mended;
  }
}

/** Compares the counts of contacts with the contacts once a night, and deletes counts of deleted lists. */
const contactCounts: HousekeepingTask = {
  name: 'contact_counts',
  async run(deps, asOf, progress) {
    if (asOf.getUTCHours() !== RECONCILE_HOUR) return 0;
    const mended =
      (await reconcileAll(deps, 'brand', progress)) + (await reconcileAll(deps, 'list', progress));
    await deps.database.pool.query(
      `delete from audience_counts c where c.subject = 'list'
         and not exists (select 1 from lists l where l.id = c.id)
         and not exists (select 1 from audience_count_changes h where h.subject = 'list' and h.id = c.id)`,
    );
    return mended;
  },
};

/** Results of bulk requests are kept as long as the idempotency keys that lead to them. */
const bulkResults = batchTask(
  'list_bulk_results',
  `delete from list_bulk_results where id = any (array(
     select id from list_bulk_results where created_at < $1 order by created_at limit $2))`,
  (_deps, asOf) => daysBefore(asOf, IDEMPOTENCY_DAYS + 1),
);

export const listsUpkeep: Upkeep = { tasks: [contactCounts, bulkResults] };
