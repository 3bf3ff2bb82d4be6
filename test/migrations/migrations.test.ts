import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { migrations } from '../../migrations/index.ts';
import { upkeep } from '../../src/features/upkeep.ts';
import { migrate, missingMigrations, rollback } from '../../src/platform/db/migrate.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

const names = migrations.map((migration) => migration.name);

/** Names of the tables, indexes, sequences and functions in the schema. */
async function objects(): Promise<string[]> {
  const { rows } = await test.database.pool.query<{ name: string }>(
    `select relname::text as name from pg_class where relnamespace = 'public'::regnamespace
     union all select proname::text from pg_proc where pronamespace = 'public'::regnamespace order by name`,
  );
  return rows.map((row) => row.name);
}

describe('migrations', () => {
  it('can all be rolled back and applied again, with the same schema as before', async () => {
    const before = await objects();
    expect(await rollback(test.url)).toEqual([...names].reverse());
    expect(await objects()).toEqual(['migrations', 'migrations_pkey']);
    expect(await missingMigrations(test.database.pool)).toEqual(names);
    expect(await migrate(test.url, upkeep.partitions)).toEqual(names);
    expect(await objects()).toEqual(before);
    expect(await missingMigrations(test.database.pool)).toEqual([]);
  });

  it('can be rolled back to a given one', async () => {
    expect(await rollback(test.url, names[1])).toEqual(names.slice(2).reverse());
    expect(await migrate(test.url, upkeep.partitions)).toEqual(names.slice(2));
  });

  it('are applied once if twenty processes migrate at the same time', async () => {
    await rollback(test.url);
    const applied = await Promise.all(Array.from({ length: 20 }, () => migrate(test.url, upkeep.partitions)));
    expect(applied.filter((each) => each.length > 0)).toEqual([names]);
  });
});
