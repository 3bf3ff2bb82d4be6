import pg from 'pg';
import type { Config } from '../../config.ts';
import { connectionProblem } from '../../platform/db/connection-problem.ts';
import { openDatabase } from '../../platform/db/database.ts';
import { migrate, type Migrated } from '../../platform/db/migrate.ts';
import type { PartitionedTable } from '../../platform/db/partitions.ts';
import { type FirstStore, openKeyring, readKeyring } from '../../platform/secrets/stored-keys.ts';
import { LocalError } from '../machine/local-error.ts';
import type { PostgresServer } from './server.ts';

const NAME = 'carillon';

/** Creates Carillon's database on the embedded server if it is missing. Returns its URL. */
export async function ensureDatabase(server: PostgresServer): Promise<string> {
  const client = new pg.Client({ connectionString: server.url() });
  await client.connect();
  try {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [NAME]);
    if (rowCount === 0) await client.query(`create database ${NAME}`);
  } finally {
    await client.end();
  }
  return server.url(NAME);
}

/** What a migration needs of `upkeep`, and the secrets that are lost. */
export interface Migration extends FirstStore {
  partitions: readonly PartitionedTable[];
}

/** Checks the secrets before the migrations, so that a wrong one changes nothing, and then stores the keys. */
async function migrateWithKeys(url: string, { partitions, ...first }: Migration, config: Config) {
  const database = openDatabase({ url, poolMax: 1, applicationName: 'carillon migrate' });
  try {
    await readKeyring(database.pool, config, () => Promise.resolve(first));
    const migrated = await migrate(url, partitions);
    await openKeyring(database.pool, config, first);
    return migrated;
  } finally {
    await database.close();
  }
}

/**
 * Migrates a database to this version, and returns what it changed.
 * @param config without APP_SECRET, the first role that starts checks the secrets and stores the keys
 * @throws LocalError if the database cannot be used; the message does not contain the password
 * @throws ConfigError if the database does not know the secrets
 */
export async function migrateDatabase(url: string, migration: Migration, config: Config): Promise<Migrated> {
  try {
    if (config.APP_SECRET === undefined) return await migrate(url, migration.partitions);
    return await migrateWithKeys(url, migration, config);
  } catch (error) {
    const problem = connectionProblem(error, url);
    throw problem === null ? error : new LocalError(problem, { cause: error });
  }
}
