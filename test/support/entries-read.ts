import type { Database } from '../../src/db/database.ts';

/**
 * Counts what work on a pool of one connection reads of a table's indexes.
 * @param worker the pool whose work it is; its connection's statistics are written before and after
 * @returns index entries read during `work`
 */
export function entriesReadOf(table: string, worker: Database, observer: Database) {
  const read = async () => {
    await worker.pool.query('select pg_stat_force_next_flush()');
    const { rows } = await observer.pool.query<{ read: number }>(
      'select sum(idx_tup_read)::int as read from pg_stat_user_indexes where relname = $1',
      [table],
    );
    return rows[0]?.read ?? 0;
  };
  return async (work: () => Promise<unknown>): Promise<number> => {
    const before = await read();
    await work();
    return (await read()) - before;
  };
}

/** Empty a table, and leave it with statistics as of a vacuum that could give none of many pages back. */
export async function forgetRows(database: Database, table: string): Promise<void> {
  await database.pool.query(`delete from ${table}`);
  await database.pool.query(`vacuum analyze ${table}`);
  await database.pool.query('update pg_class set relpages = 700, reltuples = 1 where oid = $1::regclass', [
    table,
  ]);
}
