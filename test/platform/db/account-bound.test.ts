// An account cannot store more of a resource than its bound, not even by two transactions at once.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type AccountBound, requireWithinBound } from '../../../src/platform/db/account-bound.ts';
import { inTransaction, type Queryable } from '../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { insertAccount, type QueuedAccount } from '../../support/queued.ts';

let db: TestDatabase;
let account: QueuedAccount;
beforeAll(async () => {
  db = await createTestDatabase();
});
beforeEach(async () => {
  account = await insertAccount(db.database);
});
afterAll(() => db.drop());

const bound: AccountBound = {
  ...{ table: 'lists', where: 'removed_at is null', columns: ['name', 'description'] },
  ...{ maxRows: 3, maxBytes: 1024 * 1024 },
};
/** Text that compression makes no shorter. */
const LONG = `(select string_agg(md5(n::text), '') from generate_series(1, 10000) n)`;

const insert = (trx: Queryable, description: string) =>
  trx.query(
    `insert into lists (account_id, brand_id, name, description) values ($1, $2, 'L', ${description})`,
    [account.accountId, account.brandId],
  );
const add = (description = "''") =>
  inTransaction(db.database.pool, async (trx) => {
    await insert(trx, description);
    await requireWithinBound(trx, account, bound, 'added');
  });
const countOf = async () =>
  (await db.database.pool.query('select 1 from lists where account_id = $1', [account.accountId])).rowCount;

describe('a bound', () => {
  it('limits rows, also those of transactions at once', async () => {
    const results = await Promise.allSettled(Array.from({ length: 6 }, () => add()));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    expect(await countOf()).toBe(3);
    await expect(add()).rejects.toMatchObject({
      code: 'validation_error',
      validationErrors: { lists: ['are limited to 3 for each account; delete some first'] },
    });
  });

  it('limits bytes as they are stored', async () => {
    for (let n = 0; n < 3; n += 1) await add("repeat('x', 1000000)");
    await db.database.pool.query('delete from lists where account_id = $1', [account.accountId]);
    for (let n = 0; n < 3; n += 1) await add(LONG);
    const grow = (description: string) =>
      inTransaction(db.database.pool, async (trx) => {
        await trx.query(`update lists set description = ${description} where account_id = $1`, [
          account.accountId,
        ]);
        await requireWithinBound(trx, account, bound, 'grown');
      });
    await expect(grow(`${LONG} || reverse(${LONG})`)).rejects.toMatchObject({
      validationErrors: { lists: ['are limited to 1 MB for each account; delete or shorten some first'] },
    });
    await insert(db.database.pool, "''");
    await grow("'short'");
  });

  it('is that of one account', async () => {
    await Promise.all([add(), add(), add()]);
    account = await insertAccount(db.database);
    await add();
  });
});
