// Held backlogs are released page by page in turns, and a release stops if the account is paused again.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { releaseHeldPage } from '../../../../src/delivery/ledger/release/release-held.ts';
import { pauseSending, resumeSending } from '../../../../src/features/accounts/service.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertAccount, statusCounts } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';

const PAGE = 2_000;

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());
beforeEach(() => test.database.pool.query('delete from held_backlogs'));

/** Adds a paused account with held messages. @returns its id */
async function holdMessages(count: number): Promise<number> {
  const { pool } = test.database;
  const { accountId, brandId } = await insertAccount(test.database);
  await pauseSending(pool, accountId, 'too many complaints');
  await pool.query(
    `with m as (
       insert into messages (id, account_id, brand_id, channel, class, status, to_address, to_key, hold)
       select nextval('messages_id_seq'), $1, $2, 'email', 0, 'held', 'a@example.com', 'a@example.com',
         '{"reason": "account_paused", "until": null}'
       from generate_series(1, $3) returning id
     ), b as (
       insert into held_backlogs (account_id, channel, class, recheck_at)
       values ($1, 'email', 0, now() + interval '5 minutes')
     )
     insert into send_queue (message_id, account_id, channel, class, due_at, queued_at, held)
     select id, $1, 'email', 0, now() + interval '72 hours', now(), true from m`,
    [accountId, brandId, count],
  );
  return accountId;
}

const release = () => releaseHeldPage(test.database.pool, TEST_LIMITS);

it('takes turns between backlogs that are being released', async () => {
  const { pool } = test.database;
  const large = await holdMessages(4 * PAGE);
  const small = await holdMessages(5);
  await resumeSending(pool, large);
  expect(await release()).toMatchObject({ backlog: { accountId: large }, released: PAGE });
  await resumeSending(pool, small);
  await release();
  await release();
  expect(await statusCounts(test.database, small)).toEqual({ queued: 5 });
  expect(await statusCounts(test.database, large)).toEqual({ queued: 2 * PAGE, held: 2 * PAGE });
});

it('ends a release when the account is paused again, and continues when it is resumed', async () => {
  const { pool } = test.database;
  const accountId = await holdMessages(PAGE + 5);
  await resumeSending(pool, accountId);
  await release();
  await pauseSending(pool, accountId, 'too many complaints');
  expect((await release())?.released ?? 0).toBe(0);
  expect(await statusCounts(test.database, accountId)).toEqual({ queued: PAGE, held: 5 });
  await resumeSending(pool, accountId);
  await release();
  expect(await statusCounts(test.database, accountId)).toEqual({ queued: PAGE + 5 });
});
