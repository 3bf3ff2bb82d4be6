import { IDEMPOTENCY_DAYS } from '../db/idempotency.ts';
import { keepPartitionsOf } from '../db/partitions.ts';
import { holdsLockSql } from '../processes/liveness-lock.ts';
import { ownsNothingSql } from '../processes/process.ts';
import type { Queryable } from '../db/queryable.ts';
import { batchTask, daysBefore, type HousekeepingTask, inBatches } from './task.ts';

const SILENT_PROCESS_DAYS = 1;

/**
 * Number of keys to read at once; large, because each read passes over the dead rows that earlier deletes have left.
 */
const KEYS_AT_ONCE = 20_000;
const KEYS_PER_DELETE = 1_000;

interface OldKey {
  brand_id: number;
  endpoint: string;
  key: string;
}

/** Skips locked keys, because requests are using them. */
async function deleteKeys(client: Queryable, keys: OldKey[], before: Date): Promise<number> {
  const { rowCount } = await client.query(
    `with old as (
       select k.brand_id, k.endpoint, k.key
       from unnest($1::bigint[], $2::text[], $3::text[]) as o (brand_id, endpoint, key)
       join idempotency_keys k using (brand_id, endpoint, key)
       where k.created_at < $4 for update of k skip locked)
     delete from idempotency_keys k using old o
     where k.brand_id = o.brand_id and k.endpoint = o.endpoint and k.key = o.key`,
    [
      keys.map((each) => each.brand_id),
      keys.map((each) => each.endpoint),
      keys.map((each) => each.key),
      before,
    ],
  );
  return rowCount ?? 0;
}

/** Deletes idempotency keys after 7 days, by primary key. */
export const idempotencyKeys: HousekeepingTask = {
  name: 'idempotency_keys',
  async run({ database: { pool } }, asOf, progress) {
    const before = daysBefore(asOf, IDEMPOTENCY_DAYS);
    let total = 0;
    for (;;) {
      const { rows } = await pool.query<OldKey>(
        'select brand_id, endpoint, key from idempotency_keys where created_at < $1 limit $2',
        [before, KEYS_AT_ONCE],
      );
      let deleted = 0;
      for (let from = 0; from < rows.length; from += KEYS_PER_DELETE) {
        deleted += await deleteKeys(pool, rows.slice(from, from + KEYS_PER_DELETE), before);
        progress();
      }
      total += deleted;
      if (rows.length < KEYS_AT_ONCE || deleted === 0) return total;
    }
  },
};

/**
 * Deletes the rows of processes that died while no reaper ran. The row of a process that still owns work stays until
 * the reaper has recovered that work.
 */
export const deadProcesses: HousekeepingTask = {
  name: 'dead_processes',
  run(deps, asOf, progress) {
    const statement = `delete from processes where id = any (array(
      select p.id from processes p
      where p.seen_at < $1 and not ${holdsLockSql('p.id')} and ${ownsNothingSql(deps.processWork, 'p.id')}
      limit $2))`;
    return inBatches(deps, statement, [daysBefore(asOf, SILENT_PROCESS_DAYS)], progress);
  },
};

/**
 * Deletes the buckets of callers that have been quiet for an hour. These buckets are full again, which is the same as
 * having no bucket: every bucket fills within a few minutes.
 */
export const rateLimitBuckets = batchTask(
  'rate_limit_buckets',
  `delete from rate_limit_buckets where ctid = any (array(
     select ctid from rate_limit_buckets where filled_at < $1 limit $2 for update skip locked))`,
  (_deps, asOf) => new Date(asOf.getTime() - 3_600_000),
);

/** Makes the partitions of the days ahead and drops old ones. */
export const dailyPartitions: HousekeepingTask = {
  name: 'partitions',
  async run({ database, partitions }, asOf, progress) {
    const { made, dropped } = await keepPartitionsOf(database.pool, partitions, asOf);
    progress();
    return made.length + dropped.length;
  },
};
