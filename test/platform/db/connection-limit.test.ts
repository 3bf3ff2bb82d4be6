import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ConfigError } from '../../../src/config.ts';
import { requireConnections } from '../../../src/platform/db/database.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

describe('the connections of a process', () => {
  let made: TestDatabase;
  let most: number;
  beforeAll(async () => {
    made = await createTestDatabase();
    const { rows } = await made.database.pool.query<{ most: number }>(
      `select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as most`,
    );
    most = rows[0]?.most ?? 0;
  });
  afterAll(() => made.drop());

  const warningsOf = async (poolMax: number) => {
    const warnings: Record<string, number>[] = [];
    await requireConnections(made.database.pool, poolMax, (facts) => warnings.push(facts));
    return warnings;
  };

  it('that PostgreSQL has room for are no matter', async () => {
    expect(await warningsOf(5)).toEqual([]);
  });

  it('that leave no room for those there are already are warned of', async () => {
    const other = await made.database.pool.connect();
    const warnings = await warningsOf(most - 3);
    other.release();
    expect(warnings).toEqual([{ needed: most, used: expect.any(Number), most }]);
  });

  it('beyond what PostgreSQL allows are refused at the start, naming the setting', async () => {
    const refused = warningsOf(most - 2);
    await expect(refused).rejects.toThrow(ConfigError);
    await expect(refused).rejects.toThrow(
      `this process may open ${most + 1} connections to PostgreSQL, which allows ${most}: lower DATABASE_POOL`,
    );
  });
});
