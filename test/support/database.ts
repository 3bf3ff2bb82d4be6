import type pg from 'pg';
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

/**
 * Takes a clone of the migrated template. Call `drop` in `afterAll`.
 * @param options.keyedPlans whether it plans statements as a sender's database does
 */
export async function createTestDatabase(
  options: { poolMax?: number; keyedPlans?: boolean } = {},
): Promise<TestDatabase> {
  const { name, url } = await askService<DatabaseService>('database');
  const database = openDatabase({
    url,
    poolMax: options.poolMax ?? 5,
    applicationName: 'carillon test',
    keyedPlans: options.keyedPlans ?? false,
  });
  return {
    url,
    database,
    async drop() {
      await database.close();
      await askService('database', name);
    },
  };
}

/**
 * Empties tables that running processes may be using. PostgreSQL may abort this statement if they wait for each other,
 * so it is repeated.
 * @param tables names, separated by commas
 */
export async function emptyTables(pool: pg.Pool, tables: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await pool.query(`truncate ${tables} cascade`);
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== '40P01' || attempt === 5) throw error;
    }
  }
}
