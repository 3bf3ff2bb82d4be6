// Migrations are not bound by a time limit for statements that the operator has set for a role or database.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import { upkeep } from '../../../src/features/upkeep.ts';
import { migrate } from '../../../src/platform/db/migrate.ts';
import { MIGRATION_LOCK } from '../../../src/platform/db/sql/install.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { countWaiting } from '../../support/waiting.ts';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

it('waits for other migrations for longer than statements may take', async () => {
  const name = new URL(test.url).pathname.slice(1);
  const holder = new pg.Client({ connectionString: test.url });
  await holder.connect();
  await holder.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
  await test.database.pool.query(`alter database ${name} set statement_timeout = '50ms'`);
  try {
    const migrating = migrate(test.url, upkeep.partitions);
    const ended = migrating.then(
      () => 'migrated',
      (error: Error) => error.message,
    );
    const longer = `locktype = 'advisory' and clock_timestamp() - query_start > interval '200 ms'`;
    const waiting = eventually(async () =>
      expect(await countWaiting(test.database.pool, longer)).toBe(1),
    ).then(() => 'waiting');
    expect(await Promise.race([waiting, ended])).toBe('waiting');
    await test.database.pool.query(`alter database ${name} reset statement_timeout`);
    await holder.end();
    expect(await ended).toBe('migrated');
  } finally {
    await holder.end();
  }
});
