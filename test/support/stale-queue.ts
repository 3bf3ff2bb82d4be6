import { type Database, openDatabase } from '../../src/platform/db/database.ts';
import { createTestDatabase } from './database.ts';
import { insertSender } from './queued.ts';

/** The process that claims. */
export const OWNER = 41;
export const BACKLOG = 20_000;
export const TAKEN = 50;
/** Index entries: far fewer than wait, and enough for a few looks at each row that is taken. */
export const FEW = 1_000;

/** A queue whose statistics say that next to nothing is in it, and a sender that plans by them. */
export interface StaleQueue {
  database: Database;
  /** As a sender's, but with one connection: its plans are those that the test looks at. */
  sender: Database;
  /** @returns index entries of the queue that `sender` reads during `work` */
  entriesRead(work: () => Promise<unknown>): Promise<number>;
  close(): Promise<void>;
}

/** @param table left as after a vacuum that could give none of many pages back */
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
