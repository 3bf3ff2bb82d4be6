import { isLockSql } from '../../../src/platform/processes/liveness-lock.ts';
import type { Database } from '../../../src/platform/db/database.ts';

/** @returns the pid of the database's process that holds the lock; null if the lock is free */
export async function lockHolder({ pool }: Database, id: number): Promise<number | null> {
  const { rows } = await pool.query<{ pid: number }>(
    `select l.pid from pg_locks l where ${isLockSql('$1')}`,
    [id],
  );
  return rows[0]?.pid ?? null;
}

/** Ends the connection of a process's heartbeat, if it has one now. */
export async function endHeartbeatConnection({ pool }: Database, id: number): Promise<void> {
  await pool.query(`select pg_terminate_backend(l.pid) from pg_locks l where ${isLockSql('$1')}`, [id]);
}

export async function processIds({ pool }: Database): Promise<number[]> {
  const { rows } = await pool.query<{ id: number }>('select id from processes order by id');
  return rows.map(({ id }) => id);
}

/** @returns seconds since the process was last seen, by the clock of the database */
export async function silentSeconds({ pool }: Database, id: number): Promise<number | undefined> {
  const { rows } = await pool.query<{ seconds: number }>(
    'select extract(epoch from clock_timestamp() - seen_at)::float8 as seconds from processes where id = $1',
    [id],
  );
  return rows[0]?.seconds;
}
