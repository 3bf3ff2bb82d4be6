import pg from 'pg';
import { migrations } from '../../../migrations/index.ts';
import { keepPartitions, type PartitionedTable } from './partitions.ts';

/** Any fixed number, so that migrators wait for one another. */
const MIGRATION_LOCK = 7_262_514_117;

async function withLock<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'carillon migrate' });
  await client.connect();
  try {
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

async function inTransaction(client: pg.Client, statements: string, bookkeeping: string, name: string) {
  await client.query('begin');
  try {
    await client.query(statements);
    await client.query(bookkeeping, [name]);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw new Error(`migration ${name} failed: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * Apply every migration not yet applied, each in a transaction of its own, and make the daily partitions of the
 * days to come. Many at once are safe: they queue.
 * @param url of the database
 * @param partitions every partitioned table, from `upkeep`
 * @returns names applied now
 */
export async function migrate(url: string, partitions: readonly PartitionedTable[]): Promise<string[]> {
  return withLock(url, async (client) => {
    const applied = await appliedNames(client);
    const missing = migrations.filter((migration) => !applied.has(migration.name));
    for (const migration of missing) {
      await inTransaction(client, migration.up, 'insert into migrations (name) values ($1)', migration.name);
    }
    await keepPartitions(client, partitions, new Date());
    return missing.map((migration) => migration.name);
  });
}

/** Undo migrations, newest first, down to but not including `target`; all where no target is given. */
export async function rollback(url: string, target?: string): Promise<string[]> {
  return withLock(url, async (client) => {
    const applied = await appliedNames(client);
    const known = migrations.filter((migration) => applied.has(migration.name)).reverse();
    const end =
      target === undefined ? known.length : known.findIndex((migration) => migration.name === target);
    const undone = known.slice(0, end);
    for (const migration of undone) {
      await inTransaction(client, migration.down, 'delete from migrations where name = $1', migration.name);
    }
    return undone.map((migration) => migration.name);
  });
}

/** Names of migrations this version has and the database lacks; asked by `/readyz`. */
export async function missingMigrations(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ present: boolean }>(
    `select to_regclass('migrations') is not null as present`,
  );
  if (!rows[0]?.present) return migrations.map((migration) => migration.name);
  const applied = await pool.query<{ name: string }>('select name from migrations');
  const names = new Set(applied.rows.map((row) => row.name));
  return migrations.map((migration) => migration.name).filter((name) => !names.has(name));
}
