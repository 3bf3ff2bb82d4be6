// The server check refuses too many connections and roles without their functions, and warns if connections are short.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ConfigError } from '../../../src/config.ts';
import { checkServer } from '../../../src/platform/db/database.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { productFunctions } from '../../../src/platform/db/sql/names.ts';
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

  const databaseName = () => new URL(made.database.url).pathname.slice(1);

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

  describe('as a role that cannot call a function', () => {
    const name = productFunctions().all[0]?.name ?? '';

    /** The rollback of the transaction removes the role. */
    const checkAfter = (sql: string) =>
      inTransaction(made.database.pool, async (client) => {
        await client.query(`create role server_check_stranger; ${sql}; set local role server_check_stranger`);
        await checkServer(client, 5, () => undefined);
        throw new Error('accepted');
      });

    it('says who misses which functions, where, and what installs them', async () => {
      const refused = checkAfter(`drop function ${name}`);
      await expect(refused).rejects.toThrow(ConfigError);
      await expect(refused).rejects.toThrow(
        new RegExp(
          `^the role server_check_stranger does .* the database ${databaseName()}, so run carillon migrate .*: ${name}$`,
        ),
      );
    });

    it('says who has no right on which functions', async () => {
      const refused = checkAfter(`revoke execute on function ${name} from public`);
      await expect(refused).rejects.toThrow(ConfigError);
      await expect(refused).rejects.toThrow(
        new RegExp(
          `^the role server_check_stranger may not .* the database ${databaseName()}, so grant .*: ${name}$`,
        ),
      );
    });

    it('starts if it can call all, although it owns none', async () => {
      await expect(checkAfter('select')).rejects.toThrow('accepted');
    });
  });
});
