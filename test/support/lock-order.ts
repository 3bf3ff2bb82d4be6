import { expect } from '@jest/globals';
import type pg from 'pg';
import { inTransaction } from '../../src/platform/db/queryable.ts';
import { eventually } from './eventually.ts';

/** Waits until this many connections to the pool's database are waiting for locks. */
export async function waitForLocks(pool: pg.Pool, count: () => number): Promise<void> {
  await eventually(async () => {
    const { rowCount } = await pool.query(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    expect(rowCount).toBe(count());
  });
}

/**
 * Starts pieces of work while one row is locked. Each starts when the previous one is waiting for a lock or has
 * finished. Then unlocks the row.
 * @param lock a statement that locks the row, with `values`
 * @param works each takes a separate connection
 * @throws the first error of a work, such as a deadlock
 */
export async function runBehindLock(
  pool: pg.Pool,
  { lock, values }: Pick<LockedRow, 'lock' | 'values'>,
  works: readonly (() => Promise<unknown>)[],
): Promise<void> {
  const running: Promise<unknown>[] = [];
  let done = 0;
  await inTransaction(pool, async (client) => {
    await client.query(lock, values);
    for (const work of works) {
      const started = work();
      running.push(started);
      const count = () => (done += 1);
      started.then(count, count);
      await waitForLocks(pool, () => running.length - done);
    }
  });
  await Promise.all(running);
}

interface LockedRow {
  /** A statement that locks the row which `work` should lock first. */
  lock: string;
  values: unknown[];
  /** Locks many rows, including that one. */
  work: () => Promise<unknown>;
  /** Statements that lock rows, without `skip locked`. */
  probes: string[];
}

/**
 * Locks one row, starts `work`, and counts the unlocked rows when `work` is waiting for that row. If `work` takes its
 * locks in order, these are all rows after it.
 * @returns per statement of `probes`, the number of rows that could be locked, including the one locked here
 */
export async function countUnlockedRows(
  pool: pg.Pool,
  { lock, values, work, probes }: LockedRow,
): Promise<(number | null)[]> {
  const { counts, done } = await inTransaction(pool, async (client) => {
    await client.query(lock, values);
    const working = work();
    await waitForLocks(pool, () => 1);
    const unlocked: (number | null)[] = [];
    for (const statement of probes) unlocked.push((await client.query(`${statement} skip locked`)).rowCount);
    return { counts: unlocked, done: working };
  });
  await done;
  return counts;
}
