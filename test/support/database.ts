import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { openDatabase, type Database } from '../../src/platform/db/database.ts';
import { askService } from './ask-service.ts';
import type { DatabaseService } from './test-services.ts';

/** A migrated, empty database that belongs to one test file. */
export interface TestDatabase {
  url: string;
  database: Database;
  /** Closes `database` and drops it, even if other clients are still connected. */
  drop(): Promise<void>;
}

async function withAdmin(adminUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Clones the migrated template, which takes some 50 ms. Call `drop` in `afterAll`. */
export async function createTestDatabase(options: { poolMax?: number } = {}): Promise<TestDatabase> {
  const { adminUrl, template } = await askService<DatabaseService>('database');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await withAdmin(adminUrl, `create database ${name} template ${template}`);
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  const database = openDatabase({
    url: url.href,
    poolMax: options.poolMax ?? 5,
    applicationName: 'carillon test',
  });
  return {
    url: url.href,
    database,
    async drop() {
      await database.close();
      await withAdmin(adminUrl, `drop database if exists ${name} with (force)`);
    },
  };
}
