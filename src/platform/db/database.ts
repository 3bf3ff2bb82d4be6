import pg from 'pg';
import { ConfigError } from '../../config.ts';
import type { Queryable } from './queryable.ts';

/** int8 as a number: ids and counts stay far below 2^53. */
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

/** A pool of connections, for bare SQL and, by `knexOn`, for models. */
export interface Database {
  readonly url: string;
  readonly pool: pg.Pool;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  url: string;
  /** Connections at most. */
  poolMax?: number;
  /** Shown in `pg_stat_activity`. */
  applicationName?: string;
  statementTimeoutMs?: number;
  /**
   * For the loops, whose statements look up what they are given by key: plan each named statement once (planning
   * costs more than running it), and always by index. A queue's table is empty one moment and huge the next, so
   * a plan made from its size in passing would be wrong for long.
   */
  keyedPlans?: boolean;
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

/** Settings every connection of ours has, whatever opens it. */
export function connectionSettings(options: DatabaseOptions): pg.ClientConfig {
  return {
    connectionString: options.url,
    application_name: options.applicationName ?? 'carillon',
    statement_timeout: options.statementTimeoutMs ?? 30_000,
    idle_in_transaction_session_timeout: 30_000,
    keepAlive: true,
    ...(options.keyedPlans ? { options: keyedPlanSettings } : {}),
  };
}

/** Open a pool; no connection is made before the first query. */
export function openDatabase(options: DatabaseOptions): Database {
  const pool = new pg.Pool({
    ...connectionSettings(options),
    max: options.poolMax ?? 10,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 30_000,
  });
  // A lost idle connection is replaced at the next query; without a listener it would end the process.
  pool.on('error', () => undefined);
  return { url: options.url, pool, close: () => pool.end() };
}

/** Beside the pool: liveness, listening and notifying have connections of their own. */
const OWN_CONNECTIONS = 3;

interface Connections {
  /** That PostgreSQL gives to others than its superuser. */
  most: number;
  /** Of anybody, the one that asks aside. */
  used: number;
}

/**
 * See that PostgreSQL has room for a process's connections, before the process fails for want of one under load.
 * @param poolMax the pool's size
 * @param warn told where there is room for this process, but not beside all that are connected now
 * @throws ConfigError where the process can never have them all
 */
export async function requireConnections(
  db: Queryable,
  poolMax: number,
  warn: (facts: Record<string, number>, message: string) => void,
): Promise<void> {
  const { rows } = await db.query<Connections>(
    `select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as most,
       (select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()) as used`,
  );
  const { most, used } = rows[0] as Connections;
  const needed = poolMax + OWN_CONNECTIONS;
  if (needed > most) {
    throw new ConfigError(
      `this process may open ${needed} connections to PostgreSQL, which allows ${most}: lower DATABASE_POOL, or raise max_connections there`,
    );
  }
  if (needed + used > most) {
    warn({ needed, used, most }, 'PostgreSQL may run out of connections: raise max_connections');
  }
}
