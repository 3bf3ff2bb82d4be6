import { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import pg from 'pg';
import { ConfigError } from '../../config.ts';
import { losesRowsOfKeptPlans, PlanningClient, requireSafePlans } from './plans.ts';
import type { Queryable } from './queryable.ts';
import { checkCallable, correctPlanning } from './sql/install.ts';

/** Reads int8 as a number: ids and counts stay far below 2^53. */
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

/** The type int8[], which the driver does not name. */
const INT8_ARRAY = 1016 as Parameters<typeof pg.types.setTypeParser>[0];
/** Reads a flat int8[] as numbers, too. */
pg.types.setTypeParser(INT8_ARRAY, (text: string): (number | null)[] =>
  text === '{}'
    ? []
    : text
        .slice(1, -1)
        .split(',')
        .map((each) => (each === 'NULL' ? null : Number(each))),
);

/** A pool of connections to one database. */
export interface Database {
  readonly url: string;
  readonly pool: pg.Pool;
  close(): Promise<void>;
}

/**
 * Emits `changed` when a different server answers, after a restart or fail-over of the database. Connections made
 * before `lostAt`, in milliseconds since the epoch, lead to the former server. If its host is down as well, nothing
 * else ends these connections, and their statements would wait for hours.
 */
export type ServerChanges = EventEmitter<{ changed: [lostAt: number] }>;

export function createServerChanges(): ServerChanges {
  return new EventEmitter<{ changed: [lostAt: number] }>();
}

export interface DatabaseOptions {
  url: string;
  /**
   * Bypasses a transaction pooler at `url`, for connections that keep a session or have settings of their own; by
   * default `url`.
   */
  directUrl?: string | undefined;
  /** Maximum number of connections. */
  poolMax?: number;
  /** Shown in `pg_stat_activity`. */
  applicationName?: string;
  statementTimeoutMs?: number;
  /**
   * For queue loops, whose statements look up rows by key: plan each named statement only once, because planning costs
   * more than running it, and always use indexes. A queue's table may be empty one moment and huge the next, so a plan
   * made from its current size would soon be wrong.
   */
  keyedPlans?: boolean;
  /**
   * For statements over many rows: the megabytes that each sort and each hash table may use. PostgreSQL's default is 4.
   */
  workMemoryMb?: number;
  /** If set, connections to a former server are ended. */
  serverChanges?: ServerChanges | undefined;
}

const keyedPlanSettings = [
  'plan_cache_mode=force_generic_plan',
  'enable_seqscan=off',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
  'enable_material=off',
  'jit=off',
]
  .map((setting) => `-c ${setting}`)
  .join(' ');

const DEFAULT_POOL_MAX = 10;
const STATEMENT_TIMEOUT_MS = 30_000;
const IDLE_IN_TRANSACTION_MS = 30_000;
const CONNECT_TIMEOUT_MS = 10_000;
const IDLE_CONNECTION_MS = 30_000;

/** Returns the settings of a connection of the pool. */
export function connectionSettings(options: DatabaseOptions): pg.ClientConfig {
  return {
    connectionString: options.url,
    application_name: options.applicationName ?? 'carillon',
    statement_timeout: options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    ...(options.keyedPlans ? { options: keyedPlanSettings } : {}),
    // Compiling the expressions of a plan takes longer than most of these statements run.
    ...(options.workMemoryMb ? { options: `-c work_mem=${options.workMemoryMb}MB -c jit=off` } : {}),
  };
}

/** @returns the URL for connections that a transaction pooler cannot serve: it ignores settings, and swaps sessions */
export function directUrlOf({ url, directUrl }: Pick<DatabaseOptions, 'url' | 'directUrl'>): string {
  return directUrl ?? url;
}

/** Returns the settings of a connection that keeps a session: an advisory lock of the session, or LISTEN. */
export function sessionSettings(options: DatabaseOptions): pg.ClientConfig {
  return connectionSettings({ ...options, url: directUrlOf(options) });
}

/** Breaks a connection without waiting for the server. A running statement fails as on a lost connection. */
export function breakConnection(client: pg.ClientBase): void {
  (client as unknown as { connection: { stream: Duplex } }).connection.stream.destroy();
}

/** Breaks the pool's connections to a former server. @returns a function that stops this */
function leaveFormerServers(pool: pg.Pool, changes: ServerChanges | undefined): () => void {
  const openedAt = new Map<pg.PoolClient, number>();
  pool.on('connect', (client) => openedAt.set(client, Date.now()));
  pool.on('remove', (client) => openedAt.delete(client));
  const leave = (lostAt: number) => {
    for (const [client, at] of openedAt) if (at < lostAt) breakConnection(client);
  };
  changes?.on('changed', leave);
  return () => void changes?.off('changed', leave);
}

/** Opens a pool. The first connection is made by the first query. */
export function openDatabase(options: DatabaseOptions): Database {
  const pool = new pg.Pool({
    ...connectionSettings(options),
    max: options.poolMax ?? DEFAULT_POOL_MAX,
    idleTimeoutMillis: IDLE_CONNECTION_MS,
    Client: PlanningClient,
  });
  pool.on('connect', (client) => (client as unknown as PlanningClient).stopKeptPlans());
  // A lost connection fails the running statement, and the next query replaces it. Without listeners the events would
  // end the process, too; the pool's own listener is off while a client is in use.
  pool.on('connect', (client) => client.on('error', () => undefined));
  pool.on('error', () => undefined);
  const stop = leaveFormerServers(pool, options.serverChanges);
  return {
    url: options.url,
    pool,
    close() {
      stop();
      return pool.end();
    },
  };
}

/** Number of connections outside the pool: for liveness, and for LISTEN and NOTIFY. */
const DEDICATED_CONNECTIONS = 2;

interface Server {
  /** Number of connections that PostgreSQL allows, without those reserved for superusers. */
  limit: number;
  /** Number of open connections of all clients, except the one that runs this query. */
  used: number;
  /** The version of the server. */
  version: string;
  /** How this connection's statements are planned. */
  plans: string;
}

/**
 * Checks at the start that PostgreSQL allows the connections of this process, which otherwise would fail under load,
 * that it can call its functions, and that they are planned as the server's version needs.
 * @param poolMax the size of the pool
 * @param warn called if the connections fit only without those that are open now, and if the server's version or a
 *   function is slow
 * @param serverVersion by default what the server reports
 * @throws ConfigError if PostgreSQL never allows that many, if this role cannot call a function, or if general plans, or
 *   functions that another role owns, may lose rows
 */
export async function checkServer(
  db: Queryable,
  poolMax: number,
  warn: (fields: Record<string, number | string>, message: string) => void,
  serverVersion?: string,
): Promise<void> {
  const { rows } = await db.query<Server>(
    `select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as "limit",
       (select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()) as used,
       current_setting('server_version') as version, current_setting('plan_cache_mode') as plans`,
  );
  const { limit, used, version: reported, plans } = rows[0] as Server;
  const version = serverVersion ?? reported;
  const needed = poolMax + DEDICATED_CONNECTIONS;
  if (needed > limit) {
    throw new ConfigError(
      `this process may open ${needed} connections to PostgreSQL, which allows ${limit}: lower DATABASE_POOL, or raise max_connections there`,
    );
  }
  if (needed + used > limit) {
    warn({ needed, used, limit }, 'PostgreSQL may run out of connections: raise max_connections');
  }
  requireSafePlans(version, plans);
  await checkCallable(db);
  const slow = await correctPlanning(db, undefined, serverVersion);
  if (slow.length > 0) {
    warn(
      { functions: slow.join(', ') },
      'functions are planned for each call, as PostgreSQL 18 needs it: run carillon migrate as their owner to make them faster',
    );
  }
  if (losesRowsOfKeptPlans(version)) {
    warn(
      { version },
      'PostgreSQL 18 may lose rows when it reuses plans, so every call is planned: versions 15 to 17 are faster',
    );
  }
}
