import os from 'node:os';
import pg from 'pg';
import { connectionSettings, type DatabaseOptions } from '../db/database.ts';
import { inTransaction, type Queryable } from '../db/queryable.ts';

/** First key of the session advisory lock that a live process holds; the second is its id in `processes`. */
export const LIVENESS_LOCK = 1_129_468_233;

/**
 * SQL: whether the process lives. It holds its lock, which a killed one loses at once.
 * @param id SQL for an id of `processes`; where it is null, the condition is false
 */
export const holdsLockSql = (id: string): string => `exists (
  select 1 from pg_locks l
  where l.locktype = 'advisory' and l.granted and l.classid = ${LIVENESS_LOCK} and l.objid = ${id}::int::oid
    and l.database = (select oid from pg_database where datname = current_database()))`;

/**
 * SQL: whether the process has neither claims nor intents. A row of `processes` that owns something stays:
 * whoever reaps it gives that back.
 * @param id SQL for an id of `processes`, with its table
 */
export const ownsNothingSql = (id: string): string => `
  not exists (select 1 from send_queue where owner = ${id})
  and not exists (select 1 from handovers where owner = ${id})
  and not exists (select 1 from webhook_queue where owner = ${id})`;

const LIVENESS_APPLICATION = 'carillon alive';
const HEARTBEAT_MS = 3_000;
const RECONNECT_MS = 500;
/** A process that holds its lock but has said nothing for this long is taken for hung and is ended. */
const SILENT_SECONDS = 15;
/** After the database's own restart everybody's lock is gone for a moment: time to take it again. */
const RESUME_SECONDS = 3;

export interface LiveProcess {
  /** This process's id; null while the database does not know it. Changes when it was taken for dead. */
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
  onRegistered: (id: number) => void;
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

/** Row and lock appear together, so that no reaper ever sees a live row without its lock. */
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
  state.onRegistered(id);
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

/** A connection that breaks during a statement is told of twice; two attempts at once would make us two processes. */
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

const FORGET_IDLE = `delete from processes p where p.id = $1 and ${ownsNothingSql('p.id')}`;

/**
 * Make this process known: a row in `processes` and a session advisory lock on a connection of its own.
 * When that connection breaks it is made again, under the old id unless someone took us for dead meanwhile.
 * @param onRegistered called with each id this process gets
 */
export async function registerProcess(
  options: DatabaseOptions,
  role: string,
  onRegistered: (id: number) => void = () => undefined,
): Promise<LiveProcess> {
  const state: State = {
    role,
    options,
    id: null,
    lastId: null,
    client: null,
    timer: null,
    retry: null,
    closed: false,
    onRegistered,
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
      await client?.query(FORGET_IDLE, [id]).catch(() => undefined);
      await client?.end().catch(() => undefined);
    },
  };
}

/** What a room does, in the reaper's transaction, about the work of a process that died. */
export type DeadProcessTask = (client: Queryable, processId: number) => Promise<void>;

async function reapOne(pool: pg.Pool, id: number, tasks: DeadProcessTask[]): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<{ locked: boolean }>(
      'select pg_try_advisory_xact_lock($1, $2) as locked',
      [LIVENESS_LOCK, id],
    );
    if (!rows[0]?.locked) return false;
    // Deleting the row first waits for intents that hold it, and fences every later one.
    const deleted = await client.query('delete from processes where id = $1', [id]);
    if (deleted.rowCount === 0) return false;
    for (const task of tasks) await task(client, id);
    return true;
  });
}

/**
 * Find processes that are dead (their lock can be taken) or hung (silent for 15 s: their connection is ended,
 * and the next round finds them dead), and undo their claims.
 * @param self never reaped
 * @returns ids reaped now
 */
export async function reapDeadProcesses(
  pool: pg.Pool,
  self: number | null,
  tasks: DeadProcessTask[],
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
  for (const { id } of rows) if (await reapOne(pool, id, tasks)) reaped.push(id);
  return reaped;
}
