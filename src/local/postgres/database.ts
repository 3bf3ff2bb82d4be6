import pg from 'pg';
import { migrate } from '../../platform/db/migrate.ts';
import type { PartitionedTable } from '../../platform/db/partitions.ts';
import { LocalError, systemCode } from '../machine/local-error.ts';
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
 * @throws LocalError if the database cannot be reached; the message does not contain the password
 */
export async function migrateDatabase(
  url: string,
  partitions: readonly PartitionedTable[],
): Promise<string[]> {
  try {
    return await migrate(url, partitions);
  } catch (error) {
    const code = systemCode(error);
    // 28: not authorized; 3D: no such database; 08: no connection.
    const unreachable = /^(ECONN|ENOTFOUND|EAI_|ETIMEDOUT|EHOST|28|3D|08)/.test(code);
    if (!unreachable) throw error;
    const host = URL.canParse(url) ? new URL(url).host : 'DATABASE_URL';
    throw new LocalError(
      `cannot connect to the database at ${host} (${code}): start it, or correct DATABASE_URL`,
      {
        cause: error,
      },
    );
  }
}
