// Heavy reads have a time limit, leave no transaction open, and are refused by the name of what is read.
import { describe, expect, it } from '@jest/globals';
import { openHeavyReads, withDeadline } from '../../../src/platform/processes/heavy-reads.ts';
import type { Queryable } from '../../../src/platform/db/queryable.ts';
import { createTestDatabase } from '../../support/database.ts';

const LONG_MS = 600_000;
/** Of one account: those that run, and those that wait. */
const MOST = 2 + 8;

describe('heavy reads', () => {
  it('run no statement after their time, and leave no transaction open', async () => {
    const statements: unknown[] = [];
    const client = {
      query(statement: unknown) {
        statements.push(statement);
        return Promise.resolve({ rows: [] } as never);
      },
    };
    const work = (db: Queryable) => db.query('select 1');
    await withDeadline(client, LONG_MS, work);
    await expect(withDeadline(client, -1, work)).rejects.toMatchObject({ code: 'unavailable' });
    expect(statements).toEqual(['select 1', 'rollback']);
  });

  it('are refused if too many of the account wait, by what the client asked for', async () => {
    const test = await createTestDatabase();
    const reads = openHeavyReads({ url: test.url });
    const { promise, resolve } = Promise.withResolvers<void>();
    const read = (accountId: number, what: string) => reads.run({ accountId, what }, () => promise);
    const present = Array.from({ length: MOST }, () => read(1, 'timelines of contacts'));
    await expect(read(1, 'reports of campaigns')).rejects.toMatchObject({
      code: 'rate_limited',
      message: 'too many reports of campaigns at once: an account reads 2 at a time; try again in 5 s',
      headers: { 'Retry-After': '5' },
    });
    const other = read(2, 'reports of campaigns');
    resolve();
    await Promise.all([...present, other]);
    await reads.close();
    await test.drop();
  });
});
