import os from 'node:os';
import pg from 'pg';
import { connectionSettings, type DatabaseOptions } from '../db/database.ts';
import type { Queryable } from '../db/queryable.ts';
import type { WakeChannel } from '../db/wake.ts';

/** First key of the advisory lock that a live process's session holds; the second is the process's id. */
export const LIVENESS_LOCK = 1_129_468_233;

/**
 * SQL condition: whether the process is alive. It holds its lock; a killed process loses it at once.
 * @param id SQL for an id of `processes`; if it is null, the condition is false
 */
export const holdsLockSql = (id: string): string => `exists (
  select 1 from pg_locks l
  where l.locktype = 'advisory' and l.granted and l.classid = ${LIVENESS_LOCK} and l.objid = ${id}::int::oid
    and l.database = (select oid from pg_database where datname = current_database()))`;

/** Work that a process may own, such as claims, and its recovery after the process dies. */
export interface ProcessWork {
  /**
   * SQL condition: whether the process owns any.
   * @param id SQL for an id of `processes`, with its table
   */
  ownedSql(id: string): string;
  /** Takes back the work of a dead process, inside the reaper's transaction. */
  recover(client: Queryable, processId: number): Promise<void>;
  /** Woken after a recovery. */
  wakes: WakeChannel;
}

/**
 * SQL condition: whether the process owns nothing. The row of a process that owns something stays until the reaper has
 * recovered its work.
 * @param id SQL for an id of `processes`, with its table
 */
export function ownsNothingSql(work: readonly ProcessWork[], id: string): string {
  return ['true', ...work.map(({ ownedSql }) => `not ${ownedSql(id)}`)].join(' and ');
}

/** Names the connections that hold liveness locks, so that the reaper ends no other. */
export const LIVENESS_APPLICATION = 'carillon alive';
const HEARTBEAT_MS = 3_000;
const RECONNECT_MS = 500;

export interface LiveProcess {
  /**
   * This process's id; null while it has no connection of its own to the database. Changes after another process took
   * this one for dead.
   */
  id(): number | null;
  close(): Promise<void>;
}

interface State {
  role: string;
  options: DatabaseOptions;
  id: number | null;
  lastId: number | null;
  client: pg.Client | null;
  timer: NodeJS.Timeout | null;
  /** The next attempt to connect. */
  retry: NodeJS.Timeout | null;
  closed: boolean;
}

async function resume(client: pg.Client, id: number): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1, $2) as locked', [
    LIVENESS_LOCK,
    id,
  ]);
  if (!rows[0]?.locked) return false;
  const updated = await client.query(
    'update processes set lock_backend_pid = pg_backend_pid(), seen_at = now() where id = $1',
    [id],
  );
  return updated.rowCount === 1;
}

/** Inserts the row and takes the lock in one transaction, so that a reaper never sees a live row without its lock. */
async function register(client: pg.Client, role: string): Promise<number> {
  await client.query('begin');
  const { rows } = await client.query<{ id: number }>(
    `insert into processes (role, host, pid, lock_backend_pid) values ($1, $2, $3, pg_backend_pid()) returning id`,
    [role, os.hostname(), process.pid],
  );
  const id = rows[0]?.id ?? 0;
  await client.query('select pg_advisory_lock($1, $2)', [LIVENESS_LOCK, id]);
  await client.query('commit');
  return id;
}

async function open(state: State): Promise<void> {
  const client = new pg.Client({
    ...connectionSettings(state.options),
    application_name: LIVENESS_APPLICATION,
    statement_timeout: 10_000,
  });
  client.on('error', () => lost(state, client));
  await client.connect();
  state.client = client;
  const resumed = state.lastId !== null && (await resume(client, state.lastId));
  const id = resumed && state.lastId !== null ? state.lastId : await register(client, state.role);
  if (state.closed) return;
  state.id = id;
  state.lastId = id;
  state.timer = setInterval(() => void heartbeat(state, client), HEARTBEAT_MS);
}

async function heartbeat(state: State, client: pg.Client): Promise<void> {
  try {
    const updated = await client.query('update processes set seen_at = now() where id = $1', [state.id]);
    if (updated.rowCount === 0) lost(state, client);
  } catch {
    lost(state, client);
  }
}

function lost(state: State, client: pg.Client): void {
  if (state.client !== client) return;
  state.client = null;
  state.id = null;
  if (state.timer) clearInterval(state.timer);
  client.end().catch(() => undefined);
  retry(state);
}

/** A connection that breaks during a statement reports it twice. Two attempts at once would register two processes. */
function retry(state: State): void {
  if (state.closed || state.retry) return;
  state.retry = setTimeout(() => {
    state.retry = null;
    if (state.closed) return;
    open(state).catch(() => {
      state.client?.end().catch(() => undefined);
      state.client = null;
      retry(state);
    });
  }, RECONNECT_MS);
  state.retry.unref();
}

/**
 * Makes this process known: a row in `processes`, and a session advisory lock on a connection of its own. If that
 * connection breaks, the process connects again and keeps its id unless a reaper took it for dead in between.
 * @param work all work that a process may own; `close()` leaves the row to the reaper if any is left
 */
export async function registerProcess(
  options: DatabaseOptions,
  role: string,
  work: readonly ProcessWork[],
): Promise<LiveProcess> {
  const deleteIfIdle = `delete from processes p where p.id = $1 and ${ownsNothingSql(work, 'p.id')}`;
  const state: State = {
    role,
    options,
    id: null,
    lastId: null,
    client: null,
    timer: null,
    retry: null,
    closed: false,
  };
  await open(state);
  return {
    id: () => state.id,
    async close() {
      state.closed = true;
      if (state.timer) clearInterval(state.timer);
      const { client, id } = state;
      state.client = null;
      state.id = null;
      await client?.query(deleteIfIdle, [id]).catch(() => undefined);
      await client?.end().catch(() => undefined);
    },
  };
}
