import pg from 'pg';
import { migrations } from '../../../migrations/index.ts';
import { keepPartitions, type PartitionedTable } from './partitions.ts';
import { installFunctions, MIGRATION_LOCK } from './sql/install.ts';

async function withLock<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'carillon migrate' });
  await client.connect();
  try {
    // The role may have limits for the statements of processes. Indexes and other migrations take longer.
    await client.query('set statement_timeout = 0; set lock_timeout = 0');
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await client.query(
      'create table if not exists migrations (name text primary key, applied_at timestamptz not null default now())',
    );
    return await work(client);
  } finally {
    await client.end();
  }
}

async function appliedNames(client: pg.Client): Promise<Set<string>> {
  const { rows } = await client.query<{ name: string }>('select name from migrations');
  return new Set(rows.map((row) => row.name));
}

async function inTransaction<T>(client: pg.Client, what: string, work: () => Promise<T>): Promise<T> {
  await client.query('begin');
  try {
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback');
    throw new Error(`${what} failed: ${(error as Error).message}`, { cause: error });
  }
}

function runMigration(client: pg.Client, name: string, statements: string, bookkeeping: string) {
  return inTransaction(client, `migration ${name}`, async () => {
    await client.query(statements);
    await client.query(bookkeeping, [name]);
  });
}

/** What `migrate` has changed: the names of migrations, and of functions that were missing. */
export interface Migrated {
  applied: string[];
  functions: string[];
}

/**
 * Applies the missing migrations, each in its own transaction, installs the functions of this version, and creates the
 * daily partitions of the coming days. Several processes may migrate at the same time: they wait for each other.
 * @param partitions every partitioned table, from `upkeep`
 */
export async function migrate(url: string, partitions: readonly PartitionedTable[]): Promise<Migrated> {
  return withLock(url, async (client) => {
    const applied = await appliedNames(client);
    const missing = migrations.filter((migration) => !applied.has(migration.name));
    for (const migration of missing) {
      await runMigration(client, migration.name, migration.up, 'insert into migrations (name) values ($1)');
    }
    const functions = await inTransaction(client, 'installing functions', () => installFunctions(client));
    await keepPartitions(client, partitions, new Date());
    return { applied: missing.map(({ name }) => name), functions };
  });
}

/**
 * Rolls back the migrations after `target`, newest first; all of them if no target is given.
 * @returns the names of the migrations that were rolled back
 */
export async function rollback(url: string, target?: string): Promise<string[]> {
  return withLock(url, async (client) => {
    const applied = await appliedNames(client);
    const known = migrations.filter((migration) => applied.has(migration.name)).reverse();
    const end =
      target === undefined ? known.length : known.findIndex((migration) => migration.name === target);
    const undone = known.slice(0, end);
    for (const migration of undone) {
      await runMigration(client, migration.name, migration.down, 'delete from migrations where name = $1');
    }
    return undone.map((migration) => migration.name);
  });
}

/** Returns the names of this version's migrations that are not applied yet, for `/readyz`. */
export async function missingMigrations(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ present: boolean }>(
    `select to_regclass('migrations') is not null as present`,
  );
  if (!rows[0]?.present) return migrations.map((migration) => migration.name);
  const applied = await pool.query<{ name: string }>('select name from migrations');
  const names = new Set(applied.rows.map((row) => row.name));
  return migrations.map((migration) => migration.name).filter((name) => !names.has(name));
}
