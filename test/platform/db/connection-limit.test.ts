// The server check refuses more connections than PostgreSQL allows, and warns if too few are free.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ConfigError } from '../../../src/config.ts';
import { checkServer } from '../../../src/platform/db/database.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

describe('checkServer', () => {
  let made: TestDatabase;
  let limit: number;
  beforeAll(async () => {
    made = await createTestDatabase();
    const { rows } = await made.database.pool.query<{ limit: number }>(
      `select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as limit`,
    );
    limit = rows[0]?.limit ?? 0;
  });
  afterAll(() => made.drop());

  const warningsOf = async (poolMax: number) => {
    const warnings: Record<string, number | string>[] = [];
    await checkServer(made.database.pool, poolMax, (facts) => warnings.push(facts));
    return warnings;
  };

  it('accepts a number of connections that PostgreSQL can serve', async () => {
    expect(await warningsOf(5)).toEqual([]);
  });

  it('warns if the connections do not fit beside those that are open', async () => {
    const other = await made.database.pool.connect();
    const warnings = await warningsOf(limit - 2);
    other.release();
    expect(warnings).toEqual([{ needed: limit, used: expect.any(Number), limit }]);
  });

  it('refuses more connections than PostgreSQL allows, and names the setting', async () => {
    const refused = warningsOf(limit - 1);
    await expect(refused).rejects.toThrow(ConfigError);
    await expect(refused).rejects.toThrow(
      `this process may open ${limit + 1} connections to PostgreSQL, which allows ${limit}: lower DATABASE_POOL`,
    );
  });
});
