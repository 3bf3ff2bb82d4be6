import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { createClaimRound } from '../../../src/delivery/send/claim-round.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { insertAccount, insertSender, queueEmails, type QueuedAccount } from '../../support/queued.ts';
import { TEST_LIMITS } from '../../support/sending.ts';

const OWNER = 90;

let test: TestDatabase;
let accounts: QueuedAccount[];

beforeAll(async () => {
  test = await createTestDatabase();
  await insertSender(test.database, OWNER);
}, 60_000);
afterAll(() => test.drop());
beforeEach(async () => {
  await test.database.pool.query('truncate messages, send_queue');
  accounts = [];
  for (let n = 0; n < 2; n += 1) {
    const account = await insertAccount(test.database);
    await queueEmails(test.database, account, 200);
    accounts.push(account);
  }
});

async function claimedOf({ accountId }: QueuedAccount): Promise<Record<string, number>> {
  const { rows } = await test.database.pool.query<{ channel: string; count: number }>(
    'select channel, count(*) from send_queue where account_id = $1 and owner = $2 group by channel',
    [accountId, OWNER],
  );
  return Object.fromEntries(rows.map((row) => [row.channel, row.count]));
}

it('claims no more than is wanted, and an equal share of each backlog', async () => {
  const claimRound = createClaimRound(test.database.pool, TEST_LIMITS);
  const { claimed } = await claimRound(OWNER, new Map([['email', 120]]), () => undefined);
  expect(claimed).toBe(120);
  for (const account of accounts) expect(await claimedOf(account)).toEqual({ email: 60 });
});

it('claims for each channel what is wanted for that channel', async () => {
  const [one, other] = accounts;
  if (!one || !other) throw new Error('no accounts');
  const toSms = `update send_queue set channel = 'sms' where account_id = $1`;
  await test.database.pool.query(toSms, [other.accountId]);
  const claimRound = createClaimRound(test.database.pool, TEST_LIMITS);
  const wanted = new Map([
    ['email', 150],
    ['sms', 70],
  ]);
  await claimRound(OWNER, wanted, () => undefined);
  expect([await claimedOf(one), await claimedOf(other)]).toEqual([{ email: 150 }, { sms: 70 }]);
  await claimRound(OWNER, new Map([['sms', 70]]), () => undefined);
  expect([await claimedOf(one), await claimedOf(other)]).toEqual([{ email: 150 }, { sms: 140 }]);
});

it('looks again within seconds at a message that should be held while another transaction changes it', async () => {
  const { pool } = test.database;
  const account = await insertAccount(test.database, 0);
  const [changed] = await queueEmails(test.database, account, 3);
  const claim = () =>
    createClaimRound(pool, TEST_LIMITS)(OWNER, new Map([['email', 1_000]]), () => undefined);
  const waiting = async () => {
    const { rows } = await pool.query<{ id: number; status: string; soon: boolean }>(
      `select m.id, m.status, q.due_at < now() + interval '6 seconds' as soon
       from messages m join send_queue q on q.message_id = m.id where m.account_id = $1 order by m.id`,
      [account.accountId],
    );
    return rows.map(({ status, soon }) => ({ status, soon }));
  };
  await inTransaction(pool, async (client) => {
    await client.query('select 1 from messages where id = $1 for update', [changed]);
    await claim();
  });
  const held = { status: 'held', soon: false };
  expect(await waiting()).toEqual([{ status: 'queued', soon: true }, held, held]);
  await pool.query('update send_queue set due_at = now() where message_id = $1', [changed]);
  await claim();
  expect(await waiting()).toEqual([held, held, held]);
});

it('claims on a connection that has not prepared the claim, as behind a transaction pooler', async () => {
  const { pool } = test.database;
  const claimRound = createClaimRound(pool, TEST_LIMITS);
  const claim = () => claimRound(OWNER, new Map([['email', 100]]), () => undefined);
  expect(await claim()).toMatchObject({ claimed: 100 });
  const clients = await Promise.all(Array.from({ length: pool.totalCount }, () => pool.connect()));
  for (const client of clients) {
    await client.query('deallocate all');
    client.release();
  }
  expect(await claim()).toMatchObject({ claimed: 100 });
});
