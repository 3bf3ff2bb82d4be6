// A new kind of limit needs only a row in the table to hold, count, charge and return messages.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { intendMessages } from '../../../../src/delivery/ledger/intend/queue-batch.ts';
import { DEFAULT_PROVIDER } from '../../../../src/delivery/terms/backlog.ts';
import { limits } from '../../../../src/delivery/ledger/limits/authority.ts';
import type { Limit } from '../../../../src/delivery/ledger/limits/limit.ts';
import { messageClasses } from '../../../../src/delivery/terms/message.ts';
import { claimFunction } from '../../../../src/delivery/ledger/claim/claim.ts';
import { outcomeRecord } from '../../../../src/delivery/ledger/record/outcomes.ts';
import { createBatchRecording } from '../../../../src/delivery/ledger/record/record.ts';
import { recordOutcomes } from '../../../../src/delivery/ledger/record/record-function.ts';
import { type Database, openDatabase } from '../../../../src/platform/db/database.ts';
import { createFunctions } from '../../../../src/platform/db/sql/install.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { testEvents } from '../../../support/events.ts';
import { insertAccount, insertSender, queueEmails, type QueuedAccount } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';
import { testKeyring } from '../../../support/webhooks.ts';

/** Limits as later features will declare them: one file and one line of the table each. */

const OWNER = 90;
const PER_SENDER = 2;

/** Decides for each message, and ends at a different time for each, such as quiet hours. */
const quietHours = {
  name: 'quiet_hours',
  title: 'the recipient sleeps',
  plain: 'decided',
  queueColumns: ['attempt_count'],
  condition: { reads: 'queue', sql: 'q.attempt_count = 1' },
  claim: { effect: 'hold', until: `q.queued_at + interval '8 hours'` },
} as const satisfies Limit;

/** Counts places for each sender of an account. */
const senderShare = {
  name: 'sender_share',
  title: 'messages of a new sender',
  plain: 'stands down',
  // Campaigns have a column `options`, which must not be taken for the settings.
  figures: (setting) =>
    `select places as "limit", 0 as used, places as remaining, null::timestamptz as resets_at from (
       select max(${setting('sender_share')}) as places from (select a.id) s left join campaigns c on c.account_id = s.id) f`,
  quota: { counts: 'true', per: 'q.message_id % 2' },
  claim: { effect: 'hold', until: null, recheck: `interval '1 minute'` },
} as const satisfies Limit;

/** Charges for sent messages and returns the rest, such as a wallet. */
const wallet = {
  name: 'wallet',
  title: 'money',
  plain: 'never holds',
  reservation: {
    giveBack: (rows) => [
      {
        name: 'wallet_given_back',
        sql: `update accounts a set monthly_email_allowance = coalesce(monthly_email_allowance, 0) + (select count(*)::int from ${rows})
          where a.id in (select account_id from ${rows})`,
      },
    ],
    capture: (rows) => [
      {
        name: 'wallet_captured',
        sql: `insert into sandbox_usage (account_id, month, used)
          select account_id, date '2000-01-01', count(*) from ${rows} group by 1`,
      },
    ],
  },
} as const satisfies Limit;

/** Holds all messages of an account until the time in the account's row. */
const silence = {
  name: 'silence',
  title: 'the account is silent',
  plain: 'stands down',
  condition: { reads: 'account', sql: `a.name = 'Silent'` },
  claim: { effect: 'hold', until: `a.created_at + interval '9 hours'` },
} as const satisfies Limit;

const table = [...limits, silence, quietHours, senderShare, wallet];
const claimOfTable = claimFunction.filled(table);
const recording = recordOutcomes.filled(table);

let test: TestDatabase;
let database: Database;
let account: QueuedAccount;

beforeAll(async () => {
  test = await createTestDatabase();
  database = openDatabase({ url: test.url, poolMax: 1, keyedPlans: true });
  await insertSender(database, OWNER);
  await createFunctions(database.pool, [claimOfTable, recording]);
});
afterAll(async () => {
  await database.close();
  await test.drop();
});
beforeEach(async () => {
  account = await insertAccount(database);
});

async function claim(quantum: number): Promise<{ messageId: number; epoch: number; class: number }[]> {
  const request = {
    channel: 'email',
    class: messageClasses.transactional,
    accountId: account.accountId,
    providerId: DEFAULT_PROVIDER,
    owner: OWNER,
    quantum,
    settings: { ...TEST_LIMITS, sender_share: PER_SENDER },
  };
  const { rows } = await database.pool.query<{ message_id: number | null; claim_epoch: number }>(
    `select * from ${claimOfTable.name}($1)`,
    [JSON.stringify(request)],
  );
  return rows.flatMap(({ message_id: messageId, claim_epoch: epoch }) =>
    messageId === null ? [] : { messageId, epoch, class: request.class },
  );
}

async function holds(): Promise<Record<string, number[]>> {
  const { rows } = await database.pool.query<{ reason: string; ids: number[] }>(
    `select hold ->> 'reason' as reason, array_agg(id::int order by id) as ids from messages
     where account_id = $1 and status = 'held' group by 1`,
    [account.accountId],
  );
  return Object.fromEntries(rows.map(({ reason, ids }) => [reason, ids]));
}

it('claims for each sender what remains for it, and holds the others', async () => {
  const ids = await queueEmails(database, account, 8);
  const claimed = await claim(8);
  expect(claimed.map(({ messageId }) => messageId)).toEqual(ids.slice(0, 2 * PER_SENDER));
  expect(await holds()).toEqual({ sender_share: ids.slice(2 * PER_SENDER) });
});

it('holds each message until its own time, and takes no place in a quota for it', async () => {
  const ids = await queueEmails(database, account, 6);
  const quiet = ids.slice(0, 2);
  await database.pool.query('update send_queue set attempt_count = 1 where message_id = any($1)', [quiet]);
  expect((await claim(6)).map(({ messageId }) => messageId)).toEqual(ids.slice(2));
  expect(await holds()).toEqual({ quiet_hours: quiet });
  const { rows } = await database.pool.query(
    `select (hold ->> 'until')::timestamptz = q.due_at and q.due_at = q.queued_at + interval '8 hours' as own
     from messages m join send_queue q on q.message_id = m.id where m.id = any($1)`,
    [quiet],
  );
  expect(rows).toEqual([{ own: true }, { own: true }]);
});

it("holds all messages of an account until the time in the account's row", async () => {
  const ids = await queueEmails(database, account, 2);
  await database.pool.query(`update accounts set name = 'Silent' where id = $1`, [account.accountId]);
  expect(await claim(2)).toEqual([]);
  expect(await holds()).toEqual({ silence: ids });
  const { rows } = await database.pool.query(
    `select (m.hold ->> 'until')::timestamptz = a.created_at + interval '9 hours' as is_right
     from messages m join accounts a on a.id = m.account_id where a.id = $1`,
    [account.accountId],
  );
  expect(rows).toEqual([{ is_right: true }, { is_right: true }]);
});

it('counts a message only in quotas that let it go', async () => {
  await database.pool.query('update accounts set allowance_per_day = 6 where id = $1', [account.accountId]);
  const ids = await queueEmails(database, account, 8);
  await claim(8);
  expect(await holds()).toEqual({ allowance: ids.slice(6), sender_share: ids.slice(4, 6) });
  const { rows } = await database.pool.query('select used from allowance_buckets where account_id = $1', [
    account.accountId,
  ]);
  expect(rows).toEqual([{ used: 2 * PER_SENDER }]);
});

it('uses up reservations of sent messages, and returns those of refused ones', async () => {
  await queueEmails(database, account, 3);
  const messages = await intendMessages(database.pool, {
    owner: OWNER,
    seq: 1,
    provider: 'smtp',
    keyring: testKeyring,
    claims: await claim(3),
  });
  const accepted = {
    kind: 'accepted',
    providerMessageId: null,
    response: '250 ok',
    delivered: false,
  } as const;
  const refused = { kind: 'refused', code: 'rejected', response: '550 no' } as const;
  const outcomes = messages.map((message, n) => outcomeRecord(message, 'smtp', n === 0 ? refused : accepted));
  await createBatchRecording(
    { pool: database.pool, events: testEvents },
    recording.name,
  )([{ owner: OWNER, seq: 1, outcomes }]);
  const { rows } = await database.pool.query(
    `select monthly_email_allowance as returned, used as charged
     from accounts join sandbox_usage on account_id = id where id = $1`,
    [account.accountId],
  );
  expect(rows).toEqual([{ returned: 1, charged: 2 }]);
});

it('uses up reservations of plain messages, which one provider accepted at the first attempt', async () => {
  await queueEmails(database, account, 2);
  const messages = await intendMessages(database.pool, {
    owner: OWNER,
    seq: 2,
    provider: 'smtp',
    keyring: testKeyring,
    claims: await claim(2),
  });
  const accepted = {
    kind: 'accepted',
    providerMessageId: null,
    response: '250 ok',
    delivered: false,
  } as const;
  const outcomes = messages.map((message) => outcomeRecord(message, 'smtp', accepted));
  await createBatchRecording(
    { pool: database.pool, events: testEvents },
    recording.name,
  )([{ owner: OWNER, seq: 2, outcomes }]);
  const { rows } = await database.pool.query('select used from sandbox_usage where account_id = $1', [
    account.accountId,
  ]);
  expect(rows).toEqual([{ used: 2 }]);
});
