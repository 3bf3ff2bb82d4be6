import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { endLockHolder, LIVENESS_APPLICATION, LIVENESS_LOCK } from './liveness-lock.ts';

/** The heartbeat's settings, which are copied to its thread. */
export interface HeartbeatSettings {
  connection: pg.ClientConfig;
  role: string;
  host: string;
  pid: number;
  /** The id that this process has in `processes`; null if it has none yet. */
  id: number | null;
  /** SQL: deletes the row of process $1 unless the process still owns work. */
  deleteIfIdleSql: string;
  /** One Int32 that the main thread increases every second. */
  pulse: SharedArrayBuffer;
  /**
   * Number of beats, about a second each, without a pulse from the main thread, after which the process counts as hung
   * and its heartbeat pauses.
   */
  maxBeatsWithoutPulse: number;
}

const BEAT_MS = 1_000;
const RETRY_MS = 250;
/**
 * The database or the network may drop a connection without notice, so a connection that is silent for this long is
 * replaced.
 */
const QUERY_LIMIT_MS = 3_000;

/** What the heartbeat reports each time it has connected. */
export interface HeartbeatConnected {
  /** The id of this process. It gets a new one if a reaper has declared this process dead. */
  id: number;
  /** When the former connection was lost, in milliseconds since the epoch, if a different server answers now. */
  formerServerLostAt: number | null;
}

interface Connection {
  client: pg.Client;
  /** Aborts when the connection breaks. */
  lost: AbortSignal;
}

/**
 * Counts the beats since the last pulse of the main thread. Time in which the whole process is suspended does not
 * count.
 */
function watchPulse({ pulse, maxBeatsWithoutPulse }: HeartbeatSettings) {
  const counter = new Int32Array(pulse);
  let last = Atomics.load(counter, 0);
  let beats = 0;
  return {
    countBeat: () => void (beats += 1),
    isHung(): boolean {
      const now = Atomics.load(counter, 0);
      if (now !== last) beats = 0;
      last = now;
      return beats >= maxBeatsWithoutPulse;
    },
  };
}

/**
 * Marks the process as seen and takes its lock.
 * @returns false if the row is gone, because a reaper has declared this process dead
 */
async function resume(client: pg.Client, id: number): Promise<boolean> {
  // Update the row first: while it is fresh, no reaper declares the process dead, even without the lock.
  if (!(await beat(client, id))) return false;
  // The database may not have noticed yet that the former connection is gone.
  await endLockHolder(client, id);
  await client.query('select pg_advisory_lock($1, $2)', [LIVENESS_LOCK, id]);
  return true;
}

/** Inserts the row and takes the lock in one transaction, so that there is no live row without its lock. */
async function register(client: pg.Client, settings: HeartbeatSettings): Promise<number> {
  const { role, host, pid } = settings;
  await client.query('begin');
  const { rows } = await client.query<{ id: number }>(
    'insert into processes (role, host, pid, checks_claims) values ($1, $2, $3, true) returning id::int',
    [role, host, pid],
  );
  const id = rows[0]?.id ?? 0;
  await client.query('select pg_advisory_lock($1, $2)', [LIVENESS_LOCK, id]);
  await client.query('commit');
  return id;
}

/** @returns a value that differs between servers, and between restarts of one server */
async function serverOf(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ server: string }>(
    'select pg_postmaster_start_time()::text as server',
  );
  return rows[0]?.server ?? '';
}

/** @returns false if the row is gone */
async function beat(client: pg.Client, id: number): Promise<boolean> {
  const { rowCount } = await client.query('update processes set seen_at = now() where id = $1', [id]);
  return rowCount === 1;
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined);
}

/** Does not wait, because the server may never respond over a broken connection. */
function end(client: pg.Client): void {
  client.end().catch(() => undefined);
}

/**
 * Keeps a process registered as alive: marks its row in `processes` as seen every second, and holds a session advisory
 * lock. Replaces a lost connection at once, and keeps the id as long as the row exists.
 */
export class Heartbeat {
  readonly #settings: HeartbeatSettings;
  readonly #onConnected: (report: HeartbeatConnected) => void;
  readonly #stopping = new AbortController();
  readonly #pulse: ReturnType<typeof watchPulse>;
  #id: number | null;
  #server: string | null = null;
  #lostAt = 0;
  #running: Promise<Connection | null> = Promise.resolve(null);

  constructor(settings: HeartbeatSettings, onConnected: (report: HeartbeatConnected) => void) {
    this.#settings = settings;
    this.#id = settings.id;
    this.#onConnected = onConnected;
    this.#pulse = watchPulse(settings);
  }

  /**
   * Resolves when the process is registered.
   * @throws the error of the first connection; later connections are retried until they succeed
   */
  async start(): Promise<void> {
    const connection = await this.#connect();
    this.#running = this.#run(connection);
  }

  /** Removes the row, unless the process still owns work or has no connection, and ends the connection. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const connection = await this.#running;
    if (!connection) return;
    const { client, lost } = connection;
    if (!lost.aborted) await client.query(this.#settings.deleteIfIdleSql, [this.#id]).catch(() => undefined);
    end(client);
  }

  /** @returns the connection that is open when the heartbeat is stopped */
  async #run(first: Connection): Promise<Connection | null> {
    let connection: Connection | null = first;
    while (connection !== null) {
      await this.#beatUntilLost(connection);
      if (this.#stopping.signal.aborted) return connection;
      this.#lostAt = Date.now();
      end(connection.client);
      connection = await this.#reconnect();
    }
    return null;
  }

  /** Returns when the connection is lost, the row is gone, the main thread is hung, or the heartbeat is stopped. */
  async #beatUntilLost({ client, lost }: Connection): Promise<void> {
    const interrupted = AbortSignal.any([lost, this.#stopping.signal]);
    for (;;) {
      await pause(BEAT_MS, interrupted);
      this.#pulse.countBeat();
      if (interrupted.aborted || this.#pulse.isHung()) return;
      const seen = await beat(client, this.#id ?? 0).catch(() => false);
      if (!seen) return;
    }
  }

  async #reconnect(): Promise<Connection | null> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        if (!this.#pulse.isHung()) return await this.#connect();
      } catch {
        // The database is unavailable.
      }
      await pause(RETRY_MS, signal);
    }
    return null;
  }

  async #connect(): Promise<Connection> {
    const client = new pg.Client({
      ...this.#settings.connection,
      application_name: LIVENESS_APPLICATION,
      connectionTimeoutMillis: QUERY_LIMIT_MS,
      query_timeout: QUERY_LIMIT_MS,
    });
    const lost = new AbortController();
    client.on('error', () => lost.abort());
    client.on('end', () => lost.abort());
    try {
      await client.connect();
      const resumed = this.#id !== null && (await resume(client, this.#id));
      // The row must be durable: work that the process claims next refers to it.
      if (!resumed) this.#id = await register(client, this.#settings);
      // A heartbeat need not reach the disk.
      await client.query('set synchronous_commit = off');
      this.#report(await serverOf(client));
    } catch (error) {
      end(client);
      throw error;
    }
    return { client, lost: lost.signal };
  }

  #report(server: string): void {
    const changed = this.#server !== null && this.#server !== server;
    this.#server = server;
    this.#onConnected({ id: this.#id ?? 0, formerServerLostAt: changed ? this.#lostAt : null });
  }
}
