// Each test database is migrated, empty and separate from those of other tests.
import { afterAll, describe, expect, it } from '@jest/globals';
import { missingMigrations } from '../../src/platform/db/migrate.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';

describe('a test database', () => {
  const made: TestDatabase[] = [];
  afterAll(() => Promise.all(made.map((database) => database.drop())));

  it('is migrated, empty and not shared with another test', async () => {
    made.push(await createTestDatabase(), await createTestDatabase());
    const [first, second] = made as [TestDatabase, TestDatabase];
    expect(await missingMigrations(first.database.pool)).toEqual([]);
    await first.database.pool.query(`insert into accounts (name) values ('one')`);
    const { rows } = await second.database.pool.query(`select * from accounts where kind = 'customer'`);
    expect(rows).toEqual([]);
  });
});
