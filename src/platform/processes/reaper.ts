import type pg from 'pg';
import type { Logger } from 'pino';
import { inTransaction } from '../db/queryable.ts';
import type { Waker } from '../db/wake.ts';
import {
  holdsLockSql,
  LIVENESS_APPLICATION,
  LIVENESS_LOCK,
  type LiveProcess,
  type ProcessWork,
} from './process.ts';

const INTERVAL_MS = 2_000;
/** A process that holds its lock but has been silent for this long counts as hung; its connection is ended. */
const SILENT_SECONDS = 15;
/** After a restart of the database, processes get this long to take their locks again. */
const RESUME_SECONDS = 3;

async function reapOne(pool: pg.Pool, id: number, work: readonly ProcessWork[]): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ locked: boolean }>(
      'select pg_try_advisory_xact_lock($1, $2) as locked',
      [LIVENESS_LOCK, id],
    );
    if (!rows[0]?.locked) return false;
    // Delete the row first: this waits for intents that hold it, and fences all later ones.
    const deleted = await client.query('delete from processes where id = $1', [id]);
    if (deleted.rowCount === 0) return false;
    for (const each of work) await each.recover(client, id);
    return true;
  });
}

/**
 * Finds dead processes (their lock can be taken) and recovers their work. Ends the connection of hung processes, which
 * have been silent for 15 s, so that the next call finds them dead.
 * @param self never reaped
 * @returns the ids of the processes reaped
 */
export async function reapDeadProcesses(
  pool: pg.Pool,
  self: number | null,
  work: readonly ProcessWork[],
): Promise<number[]> {
  await pool.query(
    `select pg_terminate_backend(p.lock_backend_pid)
     from processes p
     join pg_stat_activity a on a.pid = p.lock_backend_pid and a.application_name = $1
     where p.seen_at < now() - make_interval(secs => $2) and p.id is distinct from $3`,
    [LIVENESS_APPLICATION, SILENT_SECONDS, self],
  );
  const { rows } = await pool.query<{ id: number }>(
    `select p.id from processes p
     where p.id is distinct from $1
       and pg_postmaster_start_time() < now() - make_interval(secs => $2)
       and not ${holdsLockSql('p.id')}`,
    [self, RESUME_SECONDS],
  );
  const reaped: number[] = [];
  for (const { id } of rows) if (await reapOne(pool, id, work)) reaped.push(id);
  return reaped;
}

export interface ReaperDeps {
  pool: pg.Pool;
  /** This process. */
  process: LiveProcess;
  /** All work that a process may own, recovered in one transaction. */
  work: readonly ProcessWork[];
  waker: Pick<Waker, 'wake'>;
  log: Logger;
}

/** Looks for dead processes every two seconds. Any number of reapers may run at once. */
export function startReaper(deps: ReaperDeps): { stop(): Promise<void> } {
  let stopped = false;
  let running: Promise<void> = Promise.resolve();

  async function round(): Promise<void> {
    try {
      const reaped = await reapDeadProcesses(deps.pool, deps.process.id(), deps.work);
      if (reaped.length === 0) return;
      deps.log.warn({ processes: reaped }, 'took over the work of dead processes');
      for (const { wakes } of deps.work) deps.waker.wake(wakes);
    } catch (error) {
      deps.log.warn({ err: error }, 'looking for dead processes failed');
    }
  }

  const timer = setInterval(() => {
    running = running.then(() => (stopped ? undefined : round()));
  }, INTERVAL_MS);
  running = round();
  return {
    async stop() {
      stopped = true;
      clearInterval(timer);
      await running;
    },
  };
}
