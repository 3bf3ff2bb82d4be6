import { expect } from '@jest/globals';
import type pg from 'pg';
import { inTransaction } from '../../src/platform/db/queryable.ts';
import { eventually } from './eventually.ts';

export interface HeldRow {
  /** A statement that locks the row which `work` should want first. */
  hold: string;
  values: unknown[];
  /** What wants many rows, that one among them. */
  work: () => Promise<unknown>;
  /** Statements that lock rows, without `skip locked`. */
  free: string[];
}

/**
 * Hold the first row while `work` wants many, and count the rows that are free when it waits for that one.
 * @returns rows that the holder could lock by each statement of `free`, its own among them
 */
export async function countFreeMeanwhile(
  pool: pg.Pool,
  { hold, values, work, free }: HeldRow,
): Promise<(number | null)[]> {
  const { counts, done } = await inTransaction(pool, async (client) => {
    await client.query(hold, values);
    const working = work();
    await eventually(async () => {
      const { rowCount } = await pool.query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      expect(rowCount).toBe(1);
    });
    const seen: (number | null)[] = [];
    for (const statement of free) seen.push((await client.query(`${statement} skip locked`)).rowCount);
    return { counts: seen, done: working };
  });
  await done;
  return counts;
}
