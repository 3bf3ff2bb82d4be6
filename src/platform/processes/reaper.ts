import type pg from 'pg';
import type { Logger } from 'pino';
import { inTransaction, isConnectionError } from '../db/queryable.ts';
import type { Waker } from '../db/wake.ts';
import { endLockHolder, holdsLockSql, isLockSql, LIVENESS_LOCK } from './liveness-lock.ts';
import type { LiveProcess, ProcessWork } from './process.ts';
import type { Pulse } from './pulse.ts';

const INTERVAL_MS = 2_000;
/** A heartbeat is late after this time. The reaper looks only while that of any process is. */
const LATE_SECONDS = 2;
/** A process without its lock is dead if it has been silent for this long. Heartbeats come every second. */
const SILENT_SECONDS = 5;
/**
 * A process that holds its lock but has been silent for this long is suspended, or cut off from the database. The
 * reaper ends its connection, which frees the lock.
 */
const CUT_OFF_SECONDS = 15;
/**
 * After a restart or fail-over of the database, every process has lost its connection. The others get this long to
 * reconnect, counted from the reconnection of the reaper's own process.
 */
const RESUME_SECONDS = 5;

/** A process that may be dead. */
interface Suspect {
  id: number;
  locked: boolean;
}

interface Findings {
  /** Whether this process has been connected long enough to judge others. */
  settled: boolean;
  suspects: Suspect[];
}

/**
 * Finds the suspects, and refreshes this process's own row. The heartbeat refreshes it, too, but if the heartbeat has
 * lost its connection, PostgreSQL may refuse it a new one.
 */
async function findSuspects(pool: pg.Pool, self: number): Promise<Findings> {
  const { rows } = await pool.query<Findings>(
    `with refreshed as (
       update processes set seen_at = now()
       where id = $1 and seen_at < now() - interval '${LATE_SECONDS} seconds'
     )
     select exists (
         select 1 from pg_locks l join pg_stat_activity a using (pid)
         where ${isLockSql('$1')} and a.backend_start < now() - make_interval(secs => ${RESUME_SECONDS})
       ) as settled,
       (select coalesce(json_agg(silent), '[]') from (
         select * from (
           select p.id, p.seen_at, ${holdsLockSql('p.id')} as locked from processes p
           where p.id <> $1 and p.seen_at < now() - make_interval(secs => ${SILENT_SECONDS})
         ) s where not locked or seen_at < now() - make_interval(secs => ${CUT_OFF_SECONDS})
       ) silent) as suspects`,
    [self],
  );
  return rows[0] as Findings;
}

/**
 * Deletes the row of a dead process and recovers its work.
 * @returns false if the process is alive: it holds its lock or was seen in the last five seconds
 */
export async function recoverProcess(
  pool: pg.Pool,
  id: number,
  work: readonly ProcessWork[],
): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ locked: boolean }>(
      'select pg_try_advisory_xact_lock($1, $2) as locked',
      [LIVENESS_LOCK, id],
    );
    if (!rows[0]?.locked) return false;
    // Delete the row first: the delete waits for intents that lock it, and fences all later ones.
    const deleted = await client.query(
      `delete from processes where id = $1 and seen_at < now() - make_interval(secs => ${SILENT_SECONDS})`,
      [id],
    );
    if (deleted.rowCount === 0) return false;
    for (const each of work) await each.recover(client, id);
    return true;
  });
}

export interface ReaperDeps {
  pool: pg.Pool;
  /** This process, which is never reaped. */
  process: LiveProcess;
  /** All work that a process may own, recovered in one transaction. */
  work: readonly ProcessWork[];
  waker: Pick<Waker, 'wake'>;
  pulse: Pulse;
  log: Logger;
}

/**
 * Looks for dead processes every two seconds while a process is silent, and recovers their work. A process is dead if,
 * in two checks in a row, its lock is free and it has been silent for five seconds. Any number of reapers may run at once.
 */
export function startReaper({ pool, process, work, waker, pulse, log }: ReaperDeps): {
  stop(): Promise<void>;
} {
  let seenBefore = new Set<number>();

  /**
   * @returns whether the suspect was reaped. If the database refuses one suspect, the reaper must still reach the
   *   others.
   */
  async function reap({ id, locked }: Suspect): Promise<boolean> {
    try {
      if (!locked) return await recoverProcess(pool, id, work);
      await endLockHolder(pool, id);
    } catch (error) {
      if (isConnectionError(error)) throw error;
      log.warn({ err: error, process: id }, 'a process that may be dead cannot be reaped');
    }
    return false;
  }

  /** @returns the ids of the processes reaped */
  async function look(self: number): Promise<number[]> {
    const before = seenBefore;
    seenBefore = new Set();
    const { settled, suspects } = await findSuspects(pool, self);
    seenBefore = new Set(suspects.map(({ id }) => id));
    const reaped: number[] = [];
    for (const suspect of suspects) {
      if (!settled || !before.has(suspect.id)) continue;
      if (await reap(suspect)) reaped.push(suspect.id);
    }
    return reaped;
  }

  const silent = {
    name: 'looking for dead processes',
    waiting: `exists (select from processes where seen_at < now() - interval '${LATE_SECONDS} seconds')`,
  };
  const lookAgain = async () => {
    const self = process.id();
    const reaped = self === null ? [] : await look(self);
    if (reaped.length > 0) {
      log.warn({ processes: reaped }, 'took over the work of dead processes');
      for (const { wakes } of work) waker.wake(wakes);
    }
    return seenBefore.size > 0;
  };
  return pulse.repeat(silent, lookAgain, INTERVAL_MS);
}
