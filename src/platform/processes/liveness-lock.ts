import type { Queryable } from '../db/queryable.ts';

/** First key of the advisory lock that a live process's session holds. The second key is the process's id. */
export const LIVENESS_LOCK = 1_129_468_233;

/** Application name of the connections that hold liveness locks. */
export const LIVENESS_APPLICATION = 'carillon alive';

/**
 * SQL condition over a row `l` of `pg_locks`: whether it is the liveness lock of a process.
 * @param id SQL for an id of `processes`
 */
export const isLockSql = (id: string): string =>
  `l.locktype = 'advisory' and l.granted and l.classid = ${LIVENESS_LOCK} and l.objid = ${id}::int::oid
    and l.database = (select oid from pg_database where datname = current_database())`;

/**
 * SQL condition: whether the process holds its lock. A killed process loses its lock at once; a live process lacks it
 * while it replaces a lost connection.
 * @param id SQL for an id of `processes`; if it is null, the condition is false
 */
export const holdsLockSql = (id: string): string => `exists (
  select 1 from pg_locks l where ${isLockSql(id)})`;

/** Ends the connection that holds a process's lock, unless it is the client's own. */
export async function endLockHolder(client: Queryable, id: number): Promise<void> {
  await client.query(
    `select pg_terminate_backend(l.pid) from pg_locks l join pg_stat_activity a using (pid)
     where ${isLockSql('$1')} and l.pid <> pg_backend_pid() and a.application_name = $2`,
    [id, LIVENESS_APPLICATION],
  );
}
