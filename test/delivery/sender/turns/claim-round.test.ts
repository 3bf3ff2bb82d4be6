// A claim round takes only what is wanted, in equal shares, and held blocks do not delay other messages.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { backlogName, DEFAULT_PROVIDER } from '../../../../src/delivery/terms/backlog.ts';
import { createBacklogs } from '../../../../src/delivery/sender/turns/backlogs.ts';
import type { Claim } from '../../../../src/delivery/ledger/ownership/claims.ts';
import { createServiceOrder } from '../../../../src/delivery/sender/turns/service-order.ts';
import { createBlockRound, createClaimRound } from '../../../../src/delivery/sender/turns/claim-round.ts';
import { openDatabase } from '../../../../src/platform/db/database.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { writeCampaign } from '../../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertAccount, insertSender, queueEmails, type QueuedAccount } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';

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

const nameOf = (account: QueuedAccount | undefined) =>
  backlogName({
    channel: 'email',
    class: 0,
    accountId: account?.accountId ?? 0,
    providerId: DEFAULT_PROVIDER,
  });

it('claims no more than is wanted, and an equal share from each backlog', async () => {
  const claimRound = createClaimRound(test.database.pool, TEST_LIMITS);
  const { claimed } = await claimRound(OWNER, new Map([['email', 120]]), () => undefined);
  expect(claimed).toBe(120);
  for (const account of accounts) expect(await claimedOf(account)).toEqual({ email: 60 });
});

it('claims what is wanted for each channel', async () => {
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

it('checks a message again within seconds if another transaction locks it when it should be held', async () => {
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

describe('a claim that tests the provider', () => {
  const isTested = () => true;

  it('takes one backlog, and not the one whose message ended a connection last', async () => {
    const { pool } = test.database;
    const order = createServiceOrder();
    const claimRound = createClaimRound(pool, TEST_LIMITS, createBacklogs(pool), order);
    const claimTwice = async (): Promise<(number | undefined)[]> => {
      const claimed: (number | undefined)[] = [];
      for (let n = 0; n < 2; n += 1) {
        const wanted = new Map([['email', 60]]);
        const onClaims = (_channel: string, claims: Claim[]) => void claimed.push(claims[0]?.accountId);
        await claimRound(OWNER, wanted, onClaims, () => false, isTested);
      }
      return claimed;
    };
    const [one, other] = accounts;
    order.lostConnection(nameOf(one));
    expect(await claimTwice()).toEqual([other?.accountId, other?.accountId]);
    order.lostConnection(nameOf(other));
    expect(await claimTwice()).toEqual([one?.accountId, one?.accountId]);
  });

  it('begins with messages that have lost no connection', async () => {
    const { pool } = test.database;
    await pool.query(
      `update send_queue set connection_losses = 1
       where message_id in (select message_id from send_queue order by message_id limit 30)`,
    );
    const losses: number[] = [];
    await createClaimRound(pool, TEST_LIMITS)(
      OWNER,
      new Map([['email', 60]]),
      (_channel, claims) => losses.push(...claims.map((claim) => claim.losses)),
      () => false,
      isTested,
    );
    expect(losses).toEqual([...Array<number>(30).fill(0), ...Array<number>(30).fill(1)]);
  });
});

it('serves a backlog whose message ended a connection after the others of its class', () => {
  const order = createServiceOrder();
  const backlog = (accountId: number, priority: number) => ({
    channel: 'email' as const,
    queue: 'email' as const,
    class: priority,
    accountId,
    providerId: DEFAULT_PROVIDER,
    name: `${priority}/${accountId}`,
  });
  const due = [backlog(1, 0), backlog(2, 0), backlog(3, 1)];
  const names = (backlogs: readonly { name: string }[]) => backlogs.map(({ name }) => name);
  order.served('0/1');
  order.served('0/2');
  order.lostConnection('0/1');
  expect(names(order.forRound(due))).toEqual(['0/2', '0/1', '1/3']);
  expect(names(order.forTest(due))).toEqual(['0/2', '1/3', '0/1']);
});

it('ends a round over held blocks of many accounts early, so that other messages are claimed in between', async () => {
  const database = openDatabase({ url: test.url, poolMax: 2, keyedPlans: true });
  const { pool } = database;
  for (let n = 0; n < 12; n += 1) {
    const account = await insertAccount(database);
    await writeCampaign(database, account, { recipients: 1, prefix: `held${n}-` });
    await pool.query('update accounts set sending_paused_at = now() where id = $1', [account.accountId]);
  }
  const blockRound = createBlockRound(pool, TEST_LIMITS, createBacklogs(pool), createServiceOrder());
  const share = { name: 'email', buffer: { wantedOfBlock: () => 1_000 } };
  const round = () => blockRound(OWNER, [share], () => undefined);
  const held = async () => {
    const { rows } = await pool.query<{ count: number }>(
      'select count(*)::int as count from campaign_blocks where hold_reason is not null',
    );
    return rows[0]?.count;
  };
  expect(await round()).toEqual({ claimed: 0, more: true });
  expect(await held()).toBeLessThanOrEqual(8);
  while ((await round()).more);
  expect(await held()).toBe(12);
  await database.close();
});
