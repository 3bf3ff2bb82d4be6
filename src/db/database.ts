import knexFactory, { type Knex } from 'knex';
import pg from 'pg';

/** int8 as a number: ids and counts stay far below 2^53. */
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

/** A knex instance for the rooms and a bare pool for the hot paths, both on the same database. */
export interface Database {
  readonly url: string;
  readonly knex: Knex;
  readonly pool: pg.Pool;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  url: string;
  /** Connections of knex and of the pool each, at most. */
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

/** Open both pools; no connection is made before the first query. */
export function openDatabase(options: DatabaseOptions): Database {
  const max = options.poolMax ?? 10;
  const settings = connectionSettings(options);
  const pool = new pg.Pool({ ...settings, max, connectionTimeoutMillis: 10_000, idleTimeoutMillis: 30_000 });
  // A lost idle connection is replaced at the next query; without a listener it would end the process.
  pool.on('error', () => undefined);
  const knex = knexFactory({
    client: 'pg',
    connection: settings as Knex.PgConnectionConfig,
    pool: { min: 0, max },
    acquireConnectionTimeout: 10_000,
  });
  return {
    url: options.url,
    knex,
    pool,
    async close() {
      await Promise.all([knex.destroy(), pool.end()]);
    },
  };
}
