// A canceled copy of a letter returns what it has reserved as an email.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { cancelMessages } from '../../../../src/delivery/ledger/cancel/cancel.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { queueLetter } from '../../../support/letters.ts';
import { insertPayer, monthsOf, setPrice } from '../../../support/money.ts';

const PRICE = 100;

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
  await setPrice(test.database, PRICE);
});
afterAll(() => test.drop());

it('returns the money and the free email of canceled copies', async () => {
  const { database } = test;
  const account = await insertPayer(database, { funds: 10 * PRICE, free: 1 });
  const recipients = ['ada', 'bob'].map((name) => ({ kind: 'to' as const, address: `${name}@example.com` }));
  const ids = await queueLetter(database, account, { recipients });
  await database.pool.query(
    `insert into account_months (account_id, month, email_units, free_units, spent_millicents)
     values ($1, current_month(), 2, 1, $2)`,
    [account.accountId, PRICE],
  );
  await database.pool.query(
    `update send_queue set price_month = current_month(), price_units = 1,
       price_millicents = case when message_id = $2 then 0 else $3 end where message_id = any($1)`,
    [ids, ids[0], PRICE],
  );
  await cancelMessages(database.pool, ids, 'the contact was deleted');
  expect(await monthsOf(database, account)).toEqual({ emails: 0, free: 0, texts: 0, spent: 0 });
});
