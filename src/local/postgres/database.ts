import pg from 'pg';
import { connectionProblem } from '../../platform/db/connection-problem.ts';
import { migrate } from '../../platform/db/migrate.ts';
import type { PartitionedTable } from '../../platform/db/partitions.ts';
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

/**
 * Migrates a database to this version, and returns the names of the migrations that it applied.
 * @throws LocalError if the database cannot be used; the message does not contain the password
 */
export async function migrateDatabase(
  url: string,
  partitions: readonly PartitionedTable[],
): Promise<string[]> {
  try {
    return await migrate(url, partitions);
  } catch (error) {
    const problem = connectionProblem(error, url);
    throw problem === null ? error : new LocalError(problem, { cause: error });
  }
}
