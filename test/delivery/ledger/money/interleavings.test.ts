// Months, reservations and the balance agree after any order of steps, even if the steps run concurrently.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  cancelCampaignMessages,
  requeueUnknown,
} from '../../../../src/delivery/ledger/blocks/campaign-blocks.ts';
import { cancelMessages } from '../../../../src/delivery/ledger/cancel/cancel.ts';
import { releaseHeld, releaseHeldPage } from '../../../../src/delivery/ledger/release/release-held.ts';
import { messageClasses } from '../../../../src/delivery/terms/message.ts';
import type { HandOverOutcome } from '../../../../src/delivery/terms/hand-over-outcome.ts';
import { intendMessages } from '../../../../src/delivery/ledger/intend/queue-batch.ts';
import type { BatchMessage } from '../../../../src/delivery/ledger/intend/batch.ts';
import { intendBlock } from '../../../../src/delivery/ledger/intend/block-batch.ts';
import { endBlockClaim } from '../../../../src/delivery/ledger/blocks/claimed-blocks.ts';
import { claimBlock } from '../../../../src/delivery/ledger/blocks/claim-blocks.ts';
import { claimBacklog, releaseClaims } from '../../../../src/delivery/ledger/claim/claim.ts';
import type { Claim } from '../../../../src/delivery/ledger/ownership/claims.ts';
import { recoverDeadSender } from '../../../../src/delivery/ledger/upkeep/dead-process.ts';
import { outcomeRecords, recordsOfBlock } from '../../../../src/delivery/ledger/record/outcomes.ts';
import { createBatchRecording } from '../../../../src/delivery/ledger/record/record.ts';
import { balanceSql } from '../../../../src/delivery/ledger/money/wallet.ts';
import { createAcceptor } from '../../../../src/features/messages/accept.ts';
import { postMonths } from '../../../../src/features/wallet/months.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { writeCampaign } from '../../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { testEvents } from '../../../support/events.ts';
import { runTask } from '../../../support/housekeeping.ts';
import { credit, insertPayer, setPrice, wrongMonths } from '../../../support/money.ts';
import { insertSender, queueEmails, type QueuedAccount } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';
import { testKeyring } from '../../../support/webhooks.ts';

const PRICE = 100;
const OWNER = 60;

let test: TestDatabase;
let accept: ReturnType<typeof createAcceptor>;
let seq = 0;
let named = 0;

beforeAll(async () => {
  test = await createTestDatabase();
  const { pool } = test.database;
  await insertSender(test.database, OWNER);
  await setPrice(test.database, PRICE);
  // The clock of the months. Only the test moves it. As with now(), it stands still in a transaction.
  await pool.query(`create table test_clock as select date '2030-01-01' as month`);
  await pool.query(
    `create or replace function current_month() returns date language sql volatile as $$
       select coalesce(nullif(current_setting('test.month', true), ''),
         set_config('test.month', (select month::text from test_clock), true))::date $$`,
  );
  accept = createAcceptor({
    pool,
    limits: TEST_LIMITS,
    tracking: { publicUrl: null, keyId: '00000000' },
    onQueued: () => undefined,
    watchFunds: () => undefined,
  });
});
afterAll(() => test.drop());

const query = (text: string, ...values: unknown[]) => test.database.pool.query(text, values);

const outcomes: readonly HandOverOutcome[] = [
  { kind: 'accepted', providerMessageId: null, response: '250', delivered: false },
  { kind: 'deferred', response: '450 later' },
  { kind: 'refused', code: 'rejected', response: '554 no' },
  { kind: 'bounced', bounce: { type: 'soft', subtype: 'mailbox_full', diagnostic: 'full' }, response: '552' },
  { kind: 'unknown', reason: 'lost' },
  { kind: 'fault', reason: 'down' },
];

/** A step in the life of an account. Numbers choose among the existing objects. */
type Step =
  | { do: 'accept' | 'queue' | 'cancel' | 'credit' | 'cap'; n: number }
  | {
      do: 'claim' | 'block';
      n: number;
      outcome: number;
      then: 'send' | 'release' | 'die' | 'late' | 'repeat';
    }
  | { do: 'stop' | 'release' | 'resend' | 'month' };

const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constantFrom(
      'accept' as const,
      'queue' as const,
      'cancel' as const,
      'credit' as const,
      'cap' as const,
    ),
    n: fc.nat(6),
  }),
  fc.record({
    do: fc.constantFrom('claim' as const, 'block' as const),
    n: fc.nat(9),
    outcome: fc.nat(1_000_000),
    then: fc.constantFrom(
      'send' as const,
      'send' as const,
      'release' as const,
      'die' as const,
      'repeat' as const,
    ),
  }),
  fc.record({
    do: fc.constantFrom('stop' as const, 'release' as const, 'resend' as const, 'month' as const),
  }),
);

const draftOf = ({ accountId, brandId }: QueuedAccount) => ({
  account_id: accountId,
  brand_id: brandId,
  channel: 'email' as const,
  status: 'queued' as const,
  test: false,
  to_address: 'ada@example.com',
  to_key: 'ada@example.com',
  from_address: 'shop@example.com',
  subject: 'Hello',
  text: 'Hello',
});

const isDeadlock = (error: unknown) => (error as { code?: string }).code === '40P01';

/**
 * In this test months begin all the time, and the first statement inserts the row. PostgreSQL may then abort one of
 * several statements that wait for each other; callers repeat it.
 */
async function repeatIfDeadlocked<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!isDeadlock(error) || attempt === 5) throw error;
    }
  }
}

async function acceptSome(account: QueuedAccount, count: number): Promise<void> {
  const sent = Array.from({ length: count }, () =>
    accept({ draft: draftOf(account), idempotencyKey: `key-${++named}`, fingerprint: Buffer.alloc(32) }),
  );
  for (const result of await Promise.allSettled(sent)) {
    if (result.status === 'fulfilled') continue;
    if (isDeadlock(result.reason)) throw result.reason;
    expect(['insufficient_funds', 'spend_cap_reached']).toContain((result.reason as { code: string }).code);
  }
}

async function record(
  claims: readonly Claim[],
  messages: BatchMessage[],
  own: number,
  step: Step & { outcome: number; then: string },
) {
  const leaving = messages.filter(({ verdict }) => verdict === 'send');
  const given = leaving.map((_, n) => outcomes[(step.outcome + n * 7) % outcomes.length] as HandOverOutcome);
  const records = outcomeRecords('smtp', messages, given);
  const block = claims[0]?.block;
  const batch = {
    owner: OWNER,
    seq: own,
    ...(block ? { block, outcomes: recordsOfBlock(records, leaving, given) } : { outcomes: records }),
  };
  const recording = createBatchRecording({ pool: test.database.pool, events: testEvents });
  // The messages have left, so only the record may be repeated: without it, they would stay reserved.
  await repeatIfDeadlocked(() => recording([batch]));
  if (step.then === 'repeat') await repeatIfDeadlocked(() => recording([batch]));
}

/** Hands claims over, gives them back, or dies with them. */
async function useClaims(
  claims: readonly Claim[],
  step: Extract<Step, { do: 'claim' | 'block' }>,
): Promise<void> {
  const { pool } = test.database;
  if (claims.length === 0) return;
  const block = claims[0]?.block;
  if (step.then !== 'release') {
    const own = ++seq;
    const request = {
      owner: OWNER,
      seq: own,
      provider: 'smtp',
      claims: claims.slice(0, 1 + (step.outcome % claims.length)),
      keyring: testKeyring,
    };
    const messages = block ? await intendBlock(pool, request, block) : await intendMessages(pool, request);
    const isTakenForDead = step.then === 'die' || step.then === 'late';
    if (isTakenForDead) await inTransaction(pool, (trx) => recoverDeadSender(trx, OWNER));
    if (step.then !== 'die') await record(claims, messages, own, step);
  }
  if (block) await repeatIfDeadlocked(() => endBlockClaim(pool, OWNER, block));
  else await repeatIfDeadlocked(() => releaseClaims(pool, OWNER, claims));
}

async function claimSome(
  account: QueuedAccount,
  step: Extract<Step, { do: 'claim' | 'block' }>,
): Promise<void> {
  const { pool } = test.database;
  const { accountId } = account;
  await query(
    `update send_queue set due_at = now() where account_id = $1 and owner is null and due_at < 'infinity' and not held`,
    accountId,
  );
  if (step.do === 'block') {
    const request = {
      channel: 'email' as const,
      accountId,
      providerId: 0,
      owner: OWNER,
      messages: 1 + step.n,
    };
    return useClaims((await claimBlock(pool, request, TEST_LIMITS)).claims, step);
  }
  const priority = step.n % 3;
  const claims = await claimBacklog(
    pool,
    { channel: 'email', class: priority, accountId, owner: OWNER, quantum: 1 + step.n },
    TEST_LIMITS,
  );
  return useClaims(claims, step);
}

/** Ends the month, and posts the one before it, which ended a month ago. */
async function endMonth(): Promise<void> {
  const { rows } = await test.database.pool.query<{ begins: Date }>(
    `update test_clock set month = (month + interval '1 month')::date
     returning month::timestamp at time zone 'utc' as begins`,
  );
  await runTask(test.database, postMonths, rows[0]?.begins ?? new Date());
}

async function take(account: QueuedAccount, campaignId: number, step: Step): Promise<void> {
  const { pool } = test.database;
  const { accountId } = account;
  switch (step.do) {
    case 'accept':
      return acceptSome(account, step.n);
    case 'queue':
      return void (await queueEmails(test.database, account, 1 + step.n, {
        source: { class: messageClasses.flow, flow_id: 1 },
      }));
    case 'cancel': {
      const { rows } = await pool.query<{ id: number }>(
        'select message_id as id from send_queue where account_id = $1 order by 1 offset $2 limit 3',
        [accountId, step.n],
      );
      return void (await cancelMessages(
        pool,
        rows.map(({ id }) => id),
        'canceled',
      ));
    }
    case 'credit':
      return credit(test.database, account, step.n * PRICE);
    case 'cap':
      // A cap of cents pays for ten emails.
      return void (await query(
        'update accounts set spend_cap_monthly_cents = $2 where id = $1',
        accountId,
        step.n === 6 ? null : step.n,
      ));
    case 'claim':
    case 'block':
      return claimSome(account, step);
    case 'stop':
      await query(
        `update campaigns set status = 'completed', outcome = 'canceled' where id = $1`,
        campaignId,
      );
      return void (await inTransaction(pool, (trx) => cancelCampaignMessages(trx, campaignId, 5)));
    case 'release':
      await releaseHeld(test.database.pool, accountId);
      return void (await releaseHeldPage(pool, TEST_LIMITS));
    case 'resend':
      return void (await inTransaction(pool, (trx) => requeueUnknown(trx, campaignId, 5)));
    case 'month':
      return endMonth();
  }
}

/** The balance must agree with the entries and the months, and must never be overspent. */
async function check({ accountId }: QueuedAccount, step: Step): Promise<void> {
  expect([step, await wrongMonths(test.database, PRICE)]).toEqual([step, []]);
  const { rows } = await test.database.pool.query<{ balance: number; sum: number }>(
    `select ${balanceSql('a')} as balance, (
       coalesce((select sum(millicents) from wallet_entries e where e.account_id = a.id), 0)
       - coalesce((select sum(spent_millicents) from account_months s where s.account_id = a.id and posted_at is null), 0))::bigint as sum
     from accounts a where a.id = $1`,
    [accountId],
  );
  expect(rows[0]?.balance).toBe(rows[0]?.sum);
  expect([step, (rows[0]?.balance ?? 0) >= 0]).toEqual([step, true]);
}

it('keeps months, reservations and the balance consistent in any order of steps', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(stepArbitrary, { minLength: 10, maxLength: 30 }),
      fc.nat(12),
      async (steps, free) => {
        const account = await insertPayer(test.database, { funds: 10 * PRICE, free });
        const { campaignId } = await writeCampaign(test.database, account, {
          recipients: 24,
          blockSize: 12,
          prefix: `i${++named}-`,
        });
        for (const step of steps) {
          await take(account, campaignId, step);
          await check(account, step);
        }
        await query('delete from account_months where account_id = $1', account.accountId);
        await query('delete from send_queue where account_id = $1', account.accountId);
      },
    ),
    { numRuns: Number(process.env.MONEY_RUNS ?? 12), seed: 12 },
  );
}, 120_000);

it('keeps them consistent if steps are concurrent', async () => {
  const account = await insertPayer(test.database, { funds: 60 * PRICE, free: 5 });
  const { campaignId } = await writeCampaign(test.database, account, {
    recipients: 60,
    blockSize: 12,
    prefix: `j${++named}-`,
  });
  const steps = fc.sample(stepArbitrary, { numRuns: 150, seed: 14 });
  const lanes = Array.from({ length: 6 }, (_, lane) =>
    steps.filter(
      (step, n) =>
        n % 6 === lane && step.do !== 'stop' && !('then' in step && ['die', 'late'].includes(step.then)),
    ),
  );
  await Promise.all(
    lanes.map(async (lane) => {
      for (const step of lane) await repeatIfDeadlocked(() => take(account, campaignId, step));
    }),
  );
  await check(account, { do: 'release' });
}, 120_000);
