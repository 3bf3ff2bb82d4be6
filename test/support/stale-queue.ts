import { type Database, openDatabase } from '../../src/platform/db/database.ts';
import { createTestDatabase } from './database.ts';
import { insertSender } from './queued.ts';

/** The id of the claiming process. */
export const OWNER = 41;
export const BACKLOG = 20_000;
export const CLAIMED = 50;
/**
 * Maximum number of index entries that a claim may read: enough for a few look-ups per claimed row, far fewer than the
 * backlog.
 */
export const MAX_ENTRIES_READ = 1_000;

/** A full queue whose statistics say that it is nearly empty, and a sender whose statements are planned with them. */
export interface StaleQueue {
  database: Database;
  /** Configured like a sender's database, but with one connection, so that the test measures one set of plans. */
  sender: Database;
  /** @returns the number of index entries of the queue that `sender` reads during `work` */
  entriesRead(work: () => Promise<unknown>): Promise<number>;
  close(): Promise<void>;
}

/** @param table the queue, in its state after a vacuum that could return none of its many pages */
export async function openStaleQueue(table: string): Promise<StaleQueue> {
  const test = await createTestDatabase();
  const { database } = test;
  const sender = openDatabase({ url: test.url, poolMax: 1, keyedPlans: true });
  await insertSender(database, OWNER);
  await database.pool.query(`vacuum analyze ${table}`);
  await database.pool.query('update pg_class set relpages = 700, reltuples = 1 where oid = $1::regclass', [
    table,
  ]);
  const read = async () => {
    await sender.pool.query('select pg_stat_force_next_flush()');
    const { rows } = await database.pool.query<{ read: number }>(
      'select sum(idx_tup_read)::int as read from pg_stat_user_indexes where relname = $1',
      [table],
    );
    return rows[0]?.read ?? 0;
  };
  return {
    database,
    sender,
    async entriesRead(work) {
      const before = await read();
      await work();
      return (await read()) - before;
    },
    async close() {
      await sender.close();
      await test.drop();
    },
  };
}
