// A queued message reserves its price once in the claim, and is charged or returned by its outcome.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { intendMessages } from '../../../../src/delivery/ledger/intend/queue-batch.ts';
import { cancelMessages } from '../../../../src/delivery/ledger/cancel/cancel.ts';
import { recordFacts } from '../../../../src/delivery/ledger/facts/facts.ts';
import { releaseHeld, releaseHeldPage } from '../../../../src/delivery/ledger/release/release-held.ts';
import { messageClasses } from '../../../../src/delivery/terms/message.ts';
import type { HandOverOutcome } from '../../../../src/delivery/terms/hand-over-outcome.ts';
import { claimBacklog } from '../../../../src/delivery/ledger/claim/claim.ts';
import type { Claim } from '../../../../src/delivery/ledger/ownership/claims.ts';
import { recoverDeadSender } from '../../../../src/delivery/ledger/upkeep/dead-process.ts';
import { outcomeRecords } from '../../../../src/delivery/ledger/record/outcomes.ts';
import { createBatchRecording } from '../../../../src/delivery/ledger/record/record.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { testEvents } from '../../../support/events.ts';
import { runBehindLock } from '../../../support/lock-order.ts';
import { credit, insertPayer, monthsOf, setPrice, wrongMonths } from '../../../support/money.ts';
import { insertSender, queueEmails, type QueuedAccount } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';
import { testKeyring } from '../../../support/webhooks.ts';

const PRICE = 100;
const OWNER = 90;

let test: TestDatabase;
let account: QueuedAccount;
let seq = 0;

beforeAll(async () => {
  test = await createTestDatabase();
  await insertSender(test.database, OWNER);
  await setPrice(test.database, PRICE);
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertPayer(test.database, { funds: 10 * PRICE, free: 2 });
});

const query = <Row extends object>(text: string, ...values: unknown[]) =>
  test.database.pool.query<Row>(text, values).then(({ rows }) => rows);

/** Queues messages of a flow. */
const queue = (count: number, hoursAgo?: number) =>
  queueEmails(test.database, account, count, {
    source: { class: messageClasses.flow, flow_id: 1 },
    ...(hoursAgo === undefined ? {} : { queuedHoursAgo: hoursAgo }),
  });

const claim = (quantum = 50): Promise<Claim[]> =>
  claimBacklog(
    test.database.pool,
    { channel: 'email', class: messageClasses.flow, accountId: account.accountId, owner: OWNER, quantum },
    TEST_LIMITS,
  );

const intend = async (claims: readonly Claim[]) => {
  const request = { owner: OWNER, seq: ++seq, provider: 'smtp', claims, keyring: testKeyring };
  return { seq: request.seq, messages: await intendMessages(test.database.pool, request) };
};

/** Hands claims over, with the same outcome for each. */
async function send(claims: readonly Claim[], outcome: HandOverOutcome): Promise<void> {
  const batch = await intend(claims);
  const leaving = batch.messages.filter(({ verdict }) => verdict === 'send');
  const outcomes = outcomeRecords(
    'smtp',
    batch.messages,
    leaving.map(() => outcome),
  );
  const record = createBatchRecording({ pool: test.database.pool, events: testEvents });
  const batches = [{ owner: OWNER, seq: batch.seq, outcomes }];
  await record(batches);
  // The reply to the record may be lost: recording it once more changes nothing.
  await record(batches);
}

const spent = async () => (await monthsOf(test.database, account)).spent;
const accepted: HandOverOutcome = {
  kind: 'accepted',
  providerMessageId: null,
  response: '250',
  delivered: false,
};
const noFaults = async () => expect(await wrongMonths(test.database, PRICE)).toEqual([]);

const release = () => releaseHeld(test.database.pool, account.accountId);

describe('a claim', () => {
  it('reserves for messages of flows, using the allowance first, and holds what the funds do not cover', async () => {
    await queue(15);
    expect(await claim()).toHaveLength(12);
    expect(await monthsOf(test.database, account)).toEqual({ emails: 12, free: 2, texts: 0, spent: 1_000 });
    expect(
      await query(
        `select hold ->> 'reason' as reason, count(*)::int from messages where account_id = $1 and status = 'held' group by 1`,
        account.accountId,
      ),
    ).toEqual([{ reason: 'wallet', count: 3 }]);
    await noFaults();
  });

  it('reserves once for a message that is claimed again', async () => {
    await queue(3);
    await claim();
    await query('update send_queue set owner = null where account_id = $1', account.accountId);
    await claim();
    expect(await spent()).toBe(PRICE);
    await noFaults();
  });

  it('holds what is beyond the spend cap, and releases it when the cap is raised', async () => {
    await query('update accounts set spend_cap_monthly_cents = 0 where id = $1', account.accountId);
    await queue(4);
    expect(await claim()).toHaveLength(2);
    const [held] = await query<{ reason: string }>(
      `select hold ->> 'reason' as reason from messages where account_id = $1 and status = 'held'`,
      account.accountId,
    );
    expect(held?.reason).toBe('spend_cap');
    await query('update accounts set spend_cap_monthly_cents = 100 where id = $1', account.accountId);
    await release();
    await releaseHeldPage(test.database.pool, TEST_LIMITS);
    expect(await claim()).toHaveLength(2);
    expect(await spent()).toBe(2 * PRICE);
  });

  it('checks messages beyond the spend cap again within minutes, because the cap may get room again', async () => {
    await query('update accounts set spend_cap_monthly_cents = 0 where id = $1', account.accountId);
    await queue(4);
    expect(await claim()).toHaveLength(2);
    const step = (interval: string) =>
      query(
        'update held_backlogs set recheck_at = recheck_at - $2::interval where account_id = $1',
        account.accountId,
        interval,
      );
    await step('1 hour');
    expect(await releaseHeldPage(test.database.pool, TEST_LIMITS)).toMatchObject({ released: 0 });
    await query('update accounts set spend_cap_monthly_cents = 100 where id = $1', account.accountId);
    await step('5 minutes');
    expect(await releaseHeldPage(test.database.pool, TEST_LIMITS)).toMatchObject({ released: 2 });
    expect(await claim()).toHaveLength(2);
  });

  it('releases as many waiting messages as a credit pays for', async () => {
    await queue(14);
    await claim();
    await credit(test.database, account, PRICE);
    await release();
    expect(await releaseHeldPage(test.database.pool, TEST_LIMITS)).toMatchObject({ released: 1 });
    expect(await claim()).toHaveLength(1);
    await noFaults();
  });

  it.each([
    ['spend_cap', 'spend_cap_reached'],
    ['wallet', 'insufficient_funds'],
  ])('fails a message that %s has held for 72 hours with %s', async (reason, code) => {
    await queue(1);
    await query(
      `update messages set status = 'held', hold = jsonb_build_object('reason', $2::text) where account_id = $1`,
      account.accountId,
      reason,
    );
    await query(
      `update send_queue set queued_at = now() - interval '73 hours' where account_id = $1`,
      account.accountId,
    );
    await send(await claim(), accepted);
    expect(
      await query(
        `select status, failure ->> 'code' as code from messages where account_id = $1`,
        account.accountId,
      ),
    ).toEqual([{ status: 'failed', code }]);
    expect(await spent()).toBe(0);
  });
});

describe('the reservation of a message', () => {
  const paid = async (count = 4) => {
    await queue(count);
    return claim();
  };

  it('is charged when the message is sent', async () => {
    await send(await paid(), accepted);
    expect(await monthsOf(test.database, account)).toEqual({
      emails: 4,
      free: 2,
      texts: 0,
      spent: 2 * PRICE,
    });
    await noFaults();
  });

  it.each<[string, HandOverOutcome]>([
    ['refused', { kind: 'refused', code: 'rejected', response: '554 no' }],
    [
      'bounced at the hand-over',
      {
        kind: 'bounced',
        bounce: { type: 'hard', subtype: 'no_such_mailbox', diagnostic: 'no' },
        response: '550',
      },
    ],
  ])('returns once if the message is %s', async (_what, outcome) => {
    await send(await paid(), outcome);
    expect(await monthsOf(test.database, account)).toEqual({ emails: 0, free: 0, texts: 0, spent: 0 });
    await noFaults();
  });

  it('stays while the message is retried, and is charged once', async () => {
    const claims = await paid();
    await send(claims, { kind: 'deferred', response: '450 later' });
    expect(await spent()).toBe(2 * PRICE);
    await query('update send_queue set due_at = now() where account_id = $1', account.accountId);
    await send(await claim(), accepted);
    expect(await spent()).toBe(2 * PRICE);
    await noFaults();
  });

  it('returns when the message is canceled', async () => {
    const ids = await queue(4);
    await claim();
    await query('update send_queue set owner = null where account_id = $1', account.accountId);
    await cancelMessages(test.database.pool, ids, 'the contact was deleted');
    await cancelMessages(test.database.pool, ids, 'the contact was deleted');
    expect(await monthsOf(test.database, account)).toEqual({ emails: 0, free: 0, texts: 0, spent: 0 });
    await noFaults();
  });

  it('returns if the message is canceled while its claim begins the month and the bucket of the allowance', async () => {
    const ids = await queue(4);
    await runBehindLock(
      test.database.pool,
      { lock: 'select from messages where id = $1 for no key update', values: [ids[0]] },
      [() => cancelMessages(test.database.pool, ids, 'the contact was deleted'), () => claim()],
    );
    expect(await query('select from send_queue where account_id = $1', account.accountId)).toEqual([]);
    expect(await monthsOf(test.database, account)).toEqual({ emails: 0, free: 0, texts: 0, spent: 0 });
    expect(
      await query('select used from allowance_buckets where account_id = $1', account.accountId),
    ).toEqual([{ used: 0 }]);
    await noFaults();
  });

  it('is charged if the outcome is unknown, and returns once if a report shows that the message was not sent', async () => {
    const claims = await paid(3);
    await send(claims, { kind: 'unknown', reason: 'the connection was lost' });
    expect(await spent()).toBe(PRICE);
    const failed = claims.map(({ messageId }) => ({
      accountId: account.accountId,
      messageId,
      source: { kind: 'mail' as const },
      type: 'failed' as const,
      occurredAt: new Date(),
      providerMessageId: null,
      response: null,
      bounce: null,
      failure: { code: 'rejected' as const, message: 'no' },
      suppresses: false,
    }));
    for (let n = 0; n < 2; n += 1) {
      await inTransaction(test.database.pool, (trx) => recordFacts(trx, failed, testEvents));
    }
    expect(await monthsOf(test.database, account)).toEqual({ emails: 0, free: 0, texts: 0, spent: 0 });
    expect(await query('select 1 from unknown_charges where account_id = $1', account.accountId)).toEqual([]);
    // Their rows look like those of messages that were sent, and failed later.
    await query('delete from account_months where account_id = $1', account.accountId);
  });

  it('is charged if the sender dies with the message', async () => {
    const claims = await paid(3);
    await intend(claims.slice(0, 2));
    await inTransaction(test.database.pool, (trx) => recoverDeadSender(trx, OWNER));
    await noFaults();
    // The third was only claimed, and keeps what it has reserved.
    expect(await monthsOf(test.database, account)).toEqual({ emails: 3, free: 2, texts: 0, spent: PRICE });
    await send(await claim(), accepted);
    await noFaults();
  });

  it('returns to the current month if its own is posted', async () => {
    const claims = await paid(3);
    await query(
      `update send_queue set price_month = current_month() - interval '1 month' where account_id = $1`,
      account.accountId,
    );
    await query(
      `update account_months set month = current_month() - interval '1 month', posted_at = now() where account_id = $1`,
      account.accountId,
    );
    await send(claims, { kind: 'refused', code: 'rejected', response: '554 no' });
    expect(
      await query(
        `select spent_millicents as spent, posted_at is null as open from account_months where account_id = $1 order by month`,
        account.accountId,
      ),
    ).toEqual([
      { spent: PRICE, open: false },
      { spent: -PRICE, open: true },
    ]);
  });
});
