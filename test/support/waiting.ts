import type { Queryable } from '../../src/platform/db/queryable.ts';

/**
 * Number of locks that statements of this database are waiting for. Other test files wait for their own locks on the
 * same server.
 * @param db not within a transaction, in which PostgreSQL keeps returning the first answer
 * @param which an SQL condition on `pg_locks`
 */
export async function countWaiting(db: Queryable, which = 'true'): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*) as count from pg_locks join pg_stat_activity using (pid)
     where datname = current_database() and not granted and (${which})`,
  );
  return rows[0]?.count ?? 0;
}
