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
  ...{ table: 'lists', where: 'r.removed_at is null', columns: ['name', 'description'] },
  ...{ maxRows: 3, maxBytes: 1024 * 1024 },
};
/** Text that compression makes no shorter. */
const LONG = `(select string_agg(md5(n::text), '') from generate_series(1, 10000) n)`;

const insert = (trx: Queryable, description: string) =>
  trx.query(
    `insert into lists (account_id, brand_id, name, description) values ($1, $2, 'L', ${description}) returning id`,
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

  it('is checked exactly for each row of a transaction, whose rows are counted once', async () => {
    const statements: string[] = [];
    const addRows = (count: number, description: string) =>
      inTransaction(db.database.pool, async (trx) => {
        const recorded: Queryable = {
          query: (statement, values) => {
            statements.push(String(statement));
            return trx.query(statement, values);
          },
        };
        for (let n = 0; n < count; n += 1) {
          const { rows } = await insert(trx, description);
          await requireWithinBound(recorded, account, bound, 'added', (rows[0] as { id: number }).id);
        }
      });
    const refused = { code: 'validation_error' };
    await expect(addRows(4, "''")).rejects.toMatchObject(refused);
    await expect(addRows(2, `${LONG} || reverse(${LONG})`)).rejects.toMatchObject(refused);
    statements.length = 0;
    await addRows(3, "''");
    expect(statements.filter((text) => text.includes('count(*)'))).toHaveLength(1);
    await expect(addRows(1, "''")).rejects.toMatchObject(refused);
  });

  it('does not count rows that an account cannot delete', async () => {
    const counted = [`lists r where r.account_id = $1 and r.removed_at is null and r.description = ''`];
    const addBounded = (description: string) =>
      inTransaction(db.database.pool, async (trx) => {
        await insert(trx, description);
        await requireWithinBound(trx, account, { ...bound, counted }, 'added');
      });
    for (let n = 0; n < 4; n += 1) await addBounded("'kept'");
    for (let n = 0; n < 3; n += 1) await addBounded("''");
    await expect(addBounded("''")).rejects.toMatchObject({ code: 'validation_error' });
    await addBounded(LONG);
  });

  it('is that of one account', async () => {
    await Promise.all([add(), add(), add()]);
    account = await insertAccount(db.database);
    await add();
  });
});
