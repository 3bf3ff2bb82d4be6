// Campaign blocks reserve funds in the claim, charge what was sent, and return the rest.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  cancelCampaignMessages,
  requeueUnknown,
} from '../../../../src/delivery/ledger/blocks/campaign-blocks.ts';
import { type Channel, type MessageClass, messageClasses } from '../../../../src/delivery/terms/message.ts';
import type { HandOverOutcome } from '../../../../src/delivery/terms/hand-over-outcome.ts';
import { intendMessages } from '../../../../src/delivery/ledger/intend/queue-batch.ts';
import { intendBlock } from '../../../../src/delivery/ledger/intend/block-batch.ts';
import { endBlockClaim } from '../../../../src/delivery/ledger/blocks/claimed-blocks.ts';
import { claimBlock } from '../../../../src/delivery/ledger/blocks/claim-blocks.ts';
import { claimBacklog } from '../../../../src/delivery/ledger/claim/claim.ts';
import type { Claim } from '../../../../src/delivery/ledger/ownership/claims.ts';
import { recoverDeadSender } from '../../../../src/delivery/ledger/upkeep/dead-process.ts';
import { outcomeRecords, recordsOfBlock } from '../../../../src/delivery/ledger/record/outcomes.ts';
import { createBatchRecording } from '../../../../src/delivery/ledger/record/record.ts';
import {
  releaseUnsendable,
  whyUnsendable,
} from '../../../../src/features/campaigns/run/unsendable-blocks.ts';
import { setAccount } from '../../../../src/features/accounts/service.ts';
import { book } from '../../../../src/features/wallet/index.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { blocksOf, writeCampaign, type WrittenCampaign } from '../../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { testEvents } from '../../../support/events.ts';
import { runBehindLock, waitForLocks } from '../../../support/lock-order.ts';
import { credit, insertPayer, monthsOf, setPrice, wrongMonths } from '../../../support/money.ts';
import { insertSender, queueEmails, type QueuedAccount } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';
import { testKeyring } from '../../../support/webhooks.ts';

const PRICE = 100;
const OWNER = 70;

let test: TestDatabase;
let account: QueuedAccount;
let campaign: WrittenCampaign;
let seq = 0;
let prefix = 0;

beforeAll(async () => {
  test = await createTestDatabase();
  await insertSender(test.database, OWNER);
  await setPrice(test.database, PRICE);
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertPayer(test.database, { funds: 100 * PRICE, free: 3 });
  campaign = await writeCampaign(test.database, account, {
    recipients: 20,
    blockSize: 10,
    prefix: `m${++prefix}-`,
  });
});

const query = <Row extends object>(text: string, ...values: unknown[]) =>
  test.database.pool.query<Row>(text, values).then(({ rows }) => rows);

const claim = async (messages = 1_000): Promise<Claim[]> => {
  const request = {
    channel: 'email' as const,
    accountId: account.accountId,
    providerId: 0,
    owner: OWNER,
    messages,
  };
  return (await claimBlock(test.database.pool, request, TEST_LIMITS)).claims;
};

/** Writes the intent of claims. @returns a function that records their outcomes */
async function intend(claims: readonly Claim[], outcomeOf: (n: number) => HandOverOutcome) {
  const request = { owner: OWNER, seq: ++seq, provider: 'smtp', claims, keyring: testKeyring };
  const block = claims[0]?.block;
  const messages = block
    ? await intendBlock(test.database.pool, request, block)
    : await intendMessages(test.database.pool, request);
  const leaving = messages.filter(({ verdict }) => verdict === 'send');
  const outcomes = leaving.map((_, n) => outcomeOf(n));
  const records = outcomeRecords('smtp', messages, outcomes);
  const batches = [
    {
      ...{ owner: OWNER, seq: request.seq },
      ...(block ? { block, outcomes: recordsOfBlock(records, leaving, outcomes) } : { outcomes: records }),
    },
  ];
  return () => createBatchRecording({ pool: test.database.pool, events: testEvents })(batches);
}

async function send(claims: readonly Claim[], outcomeOf: (n: number) => HandOverOutcome): Promise<void> {
  const record = await intend(claims, outcomeOf);
  await record();
  await record();
}

const end = async (claims: readonly Claim[]) => {
  const block = claims[0]?.block;
  if (block) await endBlockClaim(test.database.pool, OWNER, block);
};

const claimQueue = (priority: MessageClass, channel: Channel = 'email') =>
  claimBacklog(
    test.database.pool,
    {
      channel,
      class: priority,
      accountId: account.accountId,
      owner: OWNER,
      quantum: 50,
    },
    TEST_LIMITS,
  );

const claimRetries = (channel?: Channel) => claimQueue(messageClasses.campaign, channel);

const accepted: HandOverOutcome = {
  kind: 'accepted',
  providerMessageId: null,
  response: '250',
  delivered: false,
};
const months = () => monthsOf(test.database, account);
const noFaults = async () => expect(await wrongMonths(test.database, PRICE)).toEqual([]);

it('reserves for the recipients of a block when it is claimed, and charges for messages that are sent', async () => {
  const claims = await claim();
  expect(await months()).toEqual({ emails: 10, free: 3, texts: 0, spent: 7 * PRICE });
  await send(claims, () => accepted);
  await end(claims);
  expect(await months()).toEqual({ emails: 10, free: 3, texts: 0, spent: 7 * PRICE });
  await noFaults();
});

it('returns what the recipients of a block do not use when it closes', async () => {
  const claims = await claim();
  await send(claims, (n) => (n < 4 ? accepted : { kind: 'refused', code: 'rejected', response: '554 no' }));
  await end(claims);
  expect(await months()).toEqual({ emails: 4, free: 3, texts: 0, spent: PRICE });
  await noFaults();
});

it('divides a reservation with its block', async () => {
  const claims = await claim();
  await send(claims.slice(0, 2), () => accepted);
  await end(claims);
  const part = await claim(3);
  expect(part).toHaveLength(3);
  await noFaults();
  await send(part, () => accepted);
  await end(part);
  const rest = await claim();
  expect(await months()).toEqual({ emails: 10, free: 3, texts: 0, spent: 7 * PRICE });
  await send(rest, () => ({ kind: 'refused', code: 'rejected', response: '554 no' }));
  await end(rest);
  expect(await months()).toEqual({ emails: 5, free: 3, texts: 0, spent: 2 * PRICE });
  await noFaults();
});

it('claims as many recipients as the funds pay for, and holds the rest', async () => {
  await credit(test.database, account, -95 * PRICE);
  expect(await claim()).toHaveLength(8);
  expect(await claim()).toEqual([]);
  expect((await months()).spent).toBe(5 * PRICE);
  expect(
    (await blocksOf(test.database, campaign.campaignId)).map(({ hold_reason }) => hold_reason),
  ).toContain('wallet');
  expect(await whyUnsendable(test.database.pool, campaign.campaignId, new Date())).toBe('insufficient_funds');
  await credit(test.database, account, 4 * PRICE);
  await inTransaction(test.database.pool, (trx) => releaseUnsendable(trx, campaign.campaignId));
  expect(await claim()).toHaveLength(2);
  await noFaults();
});

describe('a recipient who is retried', () => {
  it('reserves in the claim of the retry, and is charged once', async () => {
    const claims = await claim();
    await send(claims, (n) => (n === 0 ? { kind: 'deferred', response: '450 later' } : accepted));
    await end(claims);
    expect((await months()).emails).toBe(9);
    await query('update send_queue set due_at = now() where account_id = $1', account.accountId);
    await send(await claimRetries(), () => accepted);
    expect(await months()).toEqual({ emails: 10, free: 3, texts: 0, spent: 7 * PRICE });
    await noFaults();
  });

  it('is not charged again if the first attempt was charged as unknown', async () => {
    const claims = await claim();
    await send(claims, () => ({ kind: 'unknown', reason: 'lost' }));
    await end(claims);
    expect(await months()).toEqual({ emails: 10, free: 3, texts: 0, spent: 7 * PRICE });
    await requeueUnknown(test.database.pool, campaign.campaignId, 100);
    await send(await claimRetries(), () => accepted);
    expect(await months()).toEqual({ emails: 10, free: 3, texts: 0, spent: 7 * PRICE });
    await noFaults();
  });
});

it('charges for recipients to whom a dead sender may have sent, and leaves the others to the next sender', async () => {
  const claims = await claim();
  const block = claims[0]?.block;
  if (!block) throw new Error('nothing claimed');
  await intendBlock(
    test.database.pool,
    { owner: OWNER, seq: ++seq, provider: 'smtp', claims: claims.slice(0, 4), keyring: testKeyring },
    block,
  );
  await inTransaction(test.database.pool, (trx) => recoverDeadSender(trx, OWNER));
  await noFaults();
  const rest = await claim();
  expect(rest).toHaveLength(6);
  expect((await months()).emails).toBe(10);
  await send(rest, () => accepted);
  await end(rest);
  expect(await months()).toEqual({ emails: 10, free: 3, texts: 0, spent: 7 * PRICE });
  expect(await query('select 1 from unknown_charges where account_id = $1', account.accountId)).toHaveLength(
    4,
  );
  await noFaults();
});

it('returns the reservations of a canceled campaign', async () => {
  const claims = await claim();
  await send(claims.slice(0, 5), () => accepted);
  await end(claims);
  await query(`update campaigns set status = 'completed' where id = $1`, campaign.campaignId);
  await inTransaction(test.database.pool, (trx) => cancelCampaignMessages(trx, campaign.campaignId, 1_000));
  await inTransaction(test.database.pool, (trx) => cancelCampaignMessages(trx, campaign.campaignId, 1_000));
  expect(await months()).toEqual({ emails: 5, free: 3, texts: 0, spent: 2 * PRICE });
  await noFaults();
});

it('returns what a claim reserves in new counters while the canceled campaign is closed', async () => {
  const { pool } = test.database;
  await query(`update messages set status = 'canceled' where campaign_id = $1`, campaign.campaignId);
  await query(
    `update campaign_blocks set owner = $2, sandbox_month = current_month(), price_month = current_month() where campaign_id = $1`,
    ...[campaign.campaignId, OWNER],
  );
  await query(`update campaigns set status = 'completed' where id = $1`, campaign.campaignId);
  // What a claim writes that has begun before the recipients were canceled.
  const closing = await inTransaction(pool, async (trx) => {
    await trx.query(
      `with blocks as (
         update campaign_blocks set price_units = 10, price_millicents = 1000, unit_millicents = 100, reserved = 10,
           sandbox_reserved = 10, reserved_bucket = '2030-01-01' where campaign_id = $1 returning 1),
       months as (
         insert into account_months (account_id, month, email_units, spent_millicents)
         select $2, current_month(), 20, 2000),
       sandbox as (insert into sandbox_usage (account_id, month, used) select $2, current_month(), 20)
       insert into allowance_buckets (account_id, bucket, used) select $2, '2030-01-01', 20`,
      [campaign.campaignId, account.accountId],
    );
    const close = inTransaction(pool, (other) => cancelCampaignMessages(other, campaign.campaignId, 1_000));
    await waitForLocks(pool, () => 1);
    return { close };
  });
  await closing.close;
  expect(await months()).toEqual({ emails: 0, free: 0, texts: 0, spent: 0 });
  for (const counts of ['allowance_buckets', 'sandbox_usage'])
    expect(await query(`select used from ${counts} where account_id = $1`, account.accountId)).toEqual([
      { used: 0 },
    ]);
  await noFaults();
});

describe('a release of held blocks, while a claim and a record of the account run', () => {
  const raiseCap = () => setAccount(test.database.pool, account.accountId, { spendCapMonthlyCents: 100 });
  const fill = () => {
    const booking = { accountId: account.accountId, kind: 'credit' as const, millicents: PRICE };
    return inTransaction(test.database.pool, (trx) => book(trx, { ...booking, reference: 'invoice' }, 'ann'));
  };

  it.each([
    ['a credit', fill],
    ['a raised cap', raiseCap],
  ])('does not deadlock after %s', async (_what, release) => {
    const { accountId } = account;
    const claims = await claim();
    await send(claims.slice(0, 4), () => ({ kind: 'deferred', response: '450 later' }));
    await end(claims);
    await query('update send_queue set due_at = now() where account_id = $1', accountId);
    const refused: HandOverOutcome = { kind: 'refused', code: 'rejected', response: '554 no' };
    const record = await intend(await claimRetries(), () => refused);
    await query(
      `update campaign_blocks set hold_reason = 'wallet', due_at = now() + interval '1 hour' where campaign_id = $1`,
      campaign.campaignId,
    );
    // The cap holds messages of a flow: those that are claimed first have made the row of their backlog.
    await query('update accounts set spend_cap_monthly_cents = 0 where id = $1', accountId);
    const claimHeld = async () => {
      await queueEmails(test.database, account, 2, { source: { class: messageClasses.flow, flow_id: 1 } });
      return claimQueue(messageClasses.flow);
    };
    expect(await claimHeld()).toEqual([]);
    // The claim waits for the month first, and the record, which has the block, waits behind it.
    const lock = 'select 1 from account_months where account_id = $1 for update';
    await runBehindLock(test.database.pool, { lock, values: [accountId] }, [claimHeld, record, release]);
    const due =
      'select 1 from campaign_blocks where account_id = $1 and hold_reason is null and due_at <= now()';
    expect(await query(due, accountId)).toHaveLength(2);
    await noFaults();
  });
});

describe('texts', () => {
  const phones = ['+4915112345670', '+12025550100', '+4915112345671'];

  beforeEach(async () => {
    await setPrice(test.database, 700, { country: 'DE' });
    await setPrice(test.database, 900, { country: 'US' });
    await query(
      `update template_versions set channel = 'sms', segments = 2 where id = $1`,
      campaign.versionId,
    );
    await query(`update campaigns set channel = 'sms' where id = $1`, campaign.campaignId);
    await query(`update campaign_blocks set channel = 'sms' where campaign_id = $1`, campaign.campaignId);
    await query(
      `update contacts set phone = p.phone, phone_subscribed = true, phone_created_at = now()
       from unnest($1::bigint[], $2::text[]) as p (id, phone) where contacts.id = p.id`,
      campaign.contactIds,
      campaign.contactIds.map((_, n) => `${(phones[n % 3] ?? '').slice(0, -2)}${String(10 + n)}`),
    );
    await query(
      `update messages m set channel = 'sms', to_address = c.phone, to_key = c.phone from contacts c
       where c.id = m.contact_id and m.campaign_id = $1`,
      campaign.campaignId,
    );
  });

  const claimTexts = async () =>
    (
      await claimBlock(
        test.database.pool,
        { channel: 'sms', accountId: account.accountId, providerId: 0, owner: OWNER, messages: 1_000 },
        TEST_LIMITS,
      )
    ).claims;

  it('reserve the most segments of their template, by country, and return the difference', async () => {
    const claims = await claimTexts();
    // In ten: seven to Germany, three to the United States; 10,000 pays for six of them.
    expect(claims).toHaveLength(6);
    expect(await months()).toEqual({ emails: 0, free: 0, texts: 12, spent: 2 * (4 * 700 + 2 * 900) });
    await send(claims, (n) => ({ ...accepted, segments: n < 3 ? 1 : 2 }));
    await end(claims);
    expect(await months()).toEqual({ emails: 0, free: 0, texts: 9, spent: 3 * (2 * 700 + 900) });
  });

  it('cost nothing while their tier has prices only for emails', async () => {
    await query(`delete from prices where kind = 'sms'`);
    expect(await claimTexts()).toHaveLength(10);
    expect(await months()).toMatchObject({ texts: 0, spent: 0 });
    expect(
      (await blocksOf(test.database, campaign.campaignId)).map(({ hold_reason }) => hold_reason),
    ).not.toContain('wallet');
  });

  it('wait for the spend cap if it has less left than the funds', async () => {
    await query('update accounts set spend_cap_monthly_cents = 1 where id = $1', account.accountId);
    expect(await claimTexts()).toEqual([]);
    expect(await whyUnsendable(test.database.pool, campaign.campaignId, new Date())).toBe(
      'spend_cap_reached',
    );
  });

  it('reserve the price of their segments and country again when they are retried', async () => {
    const claims = await claimTexts();
    // The second goes to the United States, at 900 for each of two segments.
    await send(claims, (n) =>
      n === 1 ? { kind: 'deferred', response: 'later' } : { ...accepted, segments: 2 },
    );
    await end(claims);
    const before = await months();
    await query('update send_queue set due_at = now() where account_id = $1', account.accountId);
    await send(await claimRetries('sms'), () => ({ ...accepted, segments: 2 }));
    expect(await months()).toMatchObject({ texts: before.texts + 2, spent: before.spent + 2 * 900 });
  });
});
