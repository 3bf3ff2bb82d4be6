import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { cancelCampaignMessages } from '../../../src/delivery/campaign-blocks.ts';
import { recordFacts } from '../../../src/delivery/facts.ts';
import { releaseCtes, releaseHeldPage } from '../../../src/delivery/limits/release-held.ts';
import { messageClasses } from '../../../src/delivery/message.ts';
import type { HandOverOutcome } from '../../../src/delivery/providers/port.ts';
import type { BatchMessage } from '../../../src/delivery/send/batch.ts';
import { intendBlock } from '../../../src/delivery/send/block-batch.ts';
import { endBlockClaim } from '../../../src/delivery/send/blocks.ts';
import { intendRetries } from '../../../src/delivery/send/campaign-batch.ts';
import { claimBlock } from '../../../src/delivery/send/claim-blocks.ts';
import { type Claim, claimBacklog } from '../../../src/delivery/send/claim.ts';
import { recoverDeadSender } from '../../../src/delivery/send/dead-process.ts';
import { intendFlows } from '../../../src/delivery/send/flow-batch.ts';
import { outcomeRecords, recordsOfBlock } from '../../../src/delivery/send/outcomes.ts';
import { createBatchRecording } from '../../../src/delivery/send/record.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { writeCampaign, type WrittenCampaign } from '../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { testEvents } from '../../support/events.ts';
import {
  send as sendStep,
  testFlowSender,
  writeContact,
  writeFlow,
  writeRun,
} from '../../support/flow-sends.ts';
import { credit, insertPayer, monthsOf, setPrice } from '../../support/money.ts';
import { insertSender, type QueuedAccount } from '../../support/queued.ts';
import { TEST_LIMITS } from '../../support/sending.ts';
import { countedUsage, recountedUsage } from '../../support/usage.ts';
import { testKeyring } from '../../support/webhooks.ts';

const OWNER = 91;
const PROVIDER = 'relay';
const PRICE = 700;

let test: TestDatabase;
let account: QueuedAccount;
let seq = 0;
let prefix = 0;
let phones = 0;

beforeAll(async () => {
  test = await createTestDatabase();
  await insertSender(test.database, OWNER);
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertPayer(test.database, { funds: 100 * PRICE });
  await query('delete from prices');
  await setPrice(test.database, PRICE, { country: 'DE' });
});

const query = <Row extends object>(text: string, ...values: unknown[]) =>
  test.database.pool.query<Row>(text, values).then(({ rows }) => rows);

const german = () => `+49151${String(10_000_000 + ++phones)}`;
const american = () => `+1202555${String(1_000 + ++phones)}`;

/** Writes a campaign of texts with one block. */
async function campaignTo(numbers: readonly string[], segments = 3): Promise<WrittenCampaign> {
  const campaign = await writeCampaign(test.database, account, {
    ...{ recipients: numbers.length, blockSize: numbers.length, prefix: `t${++prefix}-` },
  });
  const { campaignId: id } = campaign;
  await query(
    `update template_versions set channel = 'sms', segments = $2 where id = $1`,
    ...[campaign.versionId, segments],
  );
  await query(`update campaigns set channel = 'sms' where id = $1`, id);
  await query(`update campaign_blocks set channel = 'sms' where campaign_id = $1`, id);
  await query(
    `update contacts set phone = p.phone, phone_subscribed = true, phone_created_at = now()
     from unnest($1::bigint[], $2::text[]) as p (id, phone) where contacts.id = p.id`,
    ...[campaign.contactIds, numbers],
  );
  await query(
    `update messages m set channel = 'sms', to_address = c.phone, to_key = c.phone from contacts c
     where c.id = m.contact_id and m.campaign_id = $1`,
    id,
  );
  return campaign;
}

/** Lets a run of a flow write a text. */
async function flowTo(phone: string, segments = 3) {
  const { flowId, steps } = await writeFlow(test.database, account, [{ channel: 'sms' }]);
  await query(
    'update template_versions set segments = $2 where account_id = $1',
    account.accountId,
    segments,
  );
  await query(
    `insert into sms_senders (account_id, brand_id, sender, takes_replies) values ($1, $2, $3, true)
     on conflict do nothing`,
    ...[account.accountId, account.brandId, `+4930${account.accountId}`],
  );
  const contactId = await writeContact(test.database, account, { email: null, phone });
  const run = await writeRun(test.database, account, flowId, contactId);
  return sendStep(test.database, testFlowSender(), run, steps[0]);
}

const claimTexts = async (): Promise<Claim[]> => {
  const { accountId } = account;
  const request = { channel: 'sms', accountId, providerId: 0, owner: OWNER, messages: 1_000 } as const;
  return (await claimBlock(test.database.pool, request, TEST_LIMITS)).claims;
};

const claimQueued = (of: 'flow' | 'campaign'): Promise<Claim[]> => {
  const { accountId } = account;
  const request = {
    channel: 'sms',
    class: messageClasses[of],
    accountId,
    owner: OWNER,
    quantum: 50,
  } as const;
  return claimBacklog(test.database.pool, request, TEST_LIMITS);
};

const intend = async (claims: readonly Claim[], of: 'flow' | 'campaign') => {
  const request = { owner: OWNER, seq: ++seq, provider: PROVIDER, claims, keyring: testKeyring };
  const block = claims[0]?.block;
  if (block) return { seq, block, messages: await intendBlock(test.database.pool, request, block) };
  const check = of === 'flow' ? intendFlows : intendRetries;
  return { seq, messages: await check(test.database.pool, request) };
};

type Intended = Awaited<ReturnType<typeof intend>>;

const leavingOf = ({ messages }: Intended) => messages.filter(({ verdict }) => verdict === 'send');

/** Records what became of the messages that left, twice: the reply to the first record may be lost. */
async function record(
  intended: Intended,
  outcomeOf: (message: BatchMessage, n: number) => HandOverOutcome,
): Promise<void> {
  const leaving = leavingOf(intended);
  const outcomes = leaving.map(outcomeOf);
  const records = outcomeRecords(PROVIDER, intended.messages, outcomes);
  const { block } = intended;
  const batch = {
    ...{ owner: OWNER, seq: intended.seq },
    ...(block ? { block, outcomes: recordsOfBlock(records, leaving, outcomes) } : { outcomes: records }),
  };
  const write = createBatchRecording({ pool: test.database.pool, events: testEvents });
  await write([batch]);
  await write([batch]);
  if (block) await endBlockClaim(test.database.pool, OWNER, block);
}

const took = (segments: number): HandOverOutcome => ({
  ...{ kind: 'accepted', providerMessageId: null, response: 'ok', delivered: false, segments },
});

/** Records that a provider has delivered messages. */
async function reportDelivered(messages: readonly BatchMessage[]): Promise<void> {
  const facts = messages.map(({ messageId, accountId }) => ({
    ...{ accountId, messageId, type: 'delivered' as const, occurredAt: new Date(), providerMessageId: null },
    source: { kind: 'callback' as const, provider: PROVIDER },
    ...{ response: null, bounce: null, failure: null, suppresses: false },
  }));
  await inTransaction(test.database.pool, (trx) => recordFacts(trx, facts, testEvents));
}

/** Ends a campaign: its blocks return what they have reserved. */
async function cancel({ campaignId }: WrittenCampaign): Promise<void> {
  await query(`update campaigns set status = 'completed' where id = $1`, campaignId);
  await inTransaction(test.database.pool, (trx) => cancelCampaignMessages(trx, campaignId, 100));
}

const messagesOf = () =>
  query<{ to: string; status: string; code: string | null; segments: number | null }>(
    `select to_key as to, status, failure ->> 'code' as code, segments from messages
     where account_id = $1 order by id`,
    account.accountId,
  );

/** What is charged and what is used must be what the messages add up to. */
async function expectCharged(segments: number): Promise<void> {
  expect(await monthsOf(test.database, account)).toMatchObject({ texts: segments, spent: segments * PRICE });
  const { accountId } = account;
  const counted = await countedUsage(test.database.pool, accountId);
  expect(counted).toEqual((await recountedUsage(test.database.pool, accountId)).filter(({ sms }) => sms > 0));
  expect(counted.reduce((sum, { sms }) => sum + sms, 0)).toBe(segments);
}

describe('a text to a country without a price', () => {
  it('is skipped in a campaign, and costs nothing', async () => {
    const [one, two, three] = [german(), american(), german()];
    await campaignTo([one, two, three]);
    const claims = await claimTexts();
    expect(claims).toHaveLength(3);
    await record(await intend(claims, 'campaign'), () => took(1));
    expect(await messagesOf()).toEqual([
      { to: one, status: 'sent', code: null, segments: 1 },
      { to: two, status: 'skipped', code: 'no_price', segments: null },
      { to: three, status: 'sent', code: null, segments: 1 },
    ]);
    await expectCharged(2);
  });

  it('is skipped in a campaign without funds for any other', async () => {
    await credit(test.database, account, -100 * PRICE + 2 * PRICE);
    const [one, two] = [american(), german()];
    await campaignTo([one, two], 2);
    await record(await intend(await claimTexts(), 'campaign'), () => took(2));
    expect(await messagesOf()).toMatchObject([
      { status: 'skipped', code: 'no_price' },
      { status: 'sent', segments: 2 },
    ]);
    await expectCharged(2);
  });

  it('is skipped if its price is removed before it is tried again', async () => {
    await campaignTo([german()]);
    await record(await intend(await claimTexts(), 'campaign'), () => ({
      kind: 'deferred',
      response: 'later',
    }));
    await setPrice(test.database, PRICE, { country: 'FR' });
    await query(`delete from prices where country = 'DE'`);
    await query('update send_queue set due_at = now() where account_id = $1', account.accountId);
    await record(await intend(await claimQueued('campaign'), 'campaign'), () => took(1));
    expect(await messagesOf()).toMatchObject([{ status: 'skipped', code: 'no_price' }]);
    await expectCharged(0);
  });

  it('is not written by a flow, whose run goes on', async () => {
    const { result, messageId } = await flowTo(american());
    expect(result).toEqual({ outcome: 'skipped', detail: { reason: 'no_price' } });
    expect(messageId).toBe(0);
    await expectCharged(0);
  });

  it('is skipped if its price is removed while the text of a flow waits', async () => {
    await flowTo(german());
    await setPrice(test.database, PRICE, { country: 'FR' });
    await query(`delete from prices where country = 'DE'`);
    await record(await intend(await claimQueued('flow'), 'flow'), () => took(1));
    expect(await messagesOf()).toMatchObject([{ status: 'skipped', code: 'no_price' }]);
    await expectCharged(0);
  });

  it('is sent at the price that it has reserved, whatever is changed afterwards', async () => {
    await flowTo(german());
    const claims = await claimQueued('flow');
    await setPrice(test.database, PRICE, { country: 'FR' });
    await query(`delete from prices where country = 'DE'`);
    await record(await intend(claims, 'flow'), () => took(2));
    expect(await messagesOf()).toMatchObject([{ status: 'sent', segments: 2 }]);
    await expectCharged(2);
  });

  it('is skipped in a campaign if it gets a price only once it is claimed', async () => {
    await campaignTo([american(), german()]);
    const claims = await claimTexts();
    await setPrice(test.database, PRICE, { country: 'US' });
    await record(await intend(claims, 'campaign'), () => took(1));
    expect(await messagesOf()).toMatchObject([
      { status: 'skipped', code: 'no_price' },
      { status: 'sent', segments: 1 },
    ]);
    await expectCharged(1);
  });

  it('is skipped in a flow if it gets a price only once it is claimed', async () => {
    await flowTo(german());
    await setPrice(test.database, PRICE, { country: 'FR' });
    await query(`delete from prices where country = 'DE'`);
    const claims = await claimQueued('flow');
    expect(claims).toHaveLength(1);
    await setPrice(test.database, PRICE, { country: 'DE' });
    await record(await intend(claims, 'flow'), () => took(1));
    expect(await messagesOf()).toMatchObject([{ status: 'skipped', code: 'no_price' }]);
    await expectCharged(0);
  });

  it('is sent for nothing if its price was zero when it was claimed', async () => {
    await query('update prices set millicents = 0');
    await setPrice(test.database, PRICE, { country: 'FR' });
    await campaignTo([german()]);
    const ofBlock = await claimTexts();
    await flowTo(german());
    const ofFlow = await claimQueued('flow');
    await setPrice(test.database, PRICE, { country: 'DE' });
    await record(await intend(ofBlock, 'campaign'), () => took(2));
    await record(await intend(ofFlow, 'flow'), () => took(2));
    expect(await messagesOf()).toMatchObject(Array(2).fill({ status: 'sent', segments: 2 }));
    expect(await monthsOf(test.database, account)).toMatchObject({ texts: 4, spent: 0 });
  });

  it('of which an attempt may have been sent stays unknown if its price is removed', async () => {
    await campaignTo([german()]);
    await record(await intend(await claimTexts(), 'campaign'), () => ({
      kind: 'deferred',
      response: 'later',
    }));
    const [message] = await query<{ id: number }>(
      'select id from messages where account_id = $1',
      account.accountId,
    );
    await query(
      `insert into message_events (message_id, attempt, type, data) values ($1, 1, 'unknown', '{}')`,
      message?.id,
    );
    await setPrice(test.database, PRICE, { country: 'FR' });
    await query(`delete from prices where country = 'DE'`);
    await query('update send_queue set due_at = now() where account_id = $1', account.accountId);
    await record(await intend(await claimQueued('campaign'), 'campaign'), () => took(1));
    expect(await messagesOf()).toMatchObject([{ status: 'unknown', code: 'no_price' }]);
    expect(await monthsOf(test.database, account)).toMatchObject({ spent: 0 });
  });

  it('is sent by accounts that pay nothing', async () => {
    await query('update accounts set comped = true where id = $1', account.accountId);
    await campaignTo([american()]);
    await record(await intend(await claimTexts(), 'campaign'), () => took(1));
    await flowTo(american());
    await record(await intend(await claimQueued('flow'), 'flow'), () => took(1));
    expect(await messagesOf()).toMatchObject([{ status: 'sent' }, { status: 'sent' }]);
  });
});

describe('a text of several segments', () => {
  it('is used and charged by the segments of what was rendered', async () => {
    await campaignTo([german(), german()]);
    await record(await intend(await claimTexts(), 'campaign'), (_, n) => took(n + 2));
    await flowTo(german());
    await record(await intend(await claimQueued('flow'), 'flow'), () => took(3));
    expect(await messagesOf()).toMatchObject([{ segments: 2 }, { segments: 3 }, { segments: 3 }]);
    await expectCharged(8);
  });

  it('is used by its segments if it costs nothing', async () => {
    await query('delete from prices');
    await campaignTo([german()]);
    await record(await intend(await claimTexts(), 'campaign'), () => took(3));
    expect(await messagesOf()).toMatchObject([{ segments: 3 }]);
    expect(await countedUsage(test.database.pool, account.accountId)).toMatchObject([{ sms: 3 }]);
  });

  it('is used by the segments that it has reserved if its sender dies with it', async () => {
    await campaignTo([german(), german()]);
    const ofBlock = await intend(await claimTexts(), 'campaign');
    await flowTo(german());
    const ofFlow = await intend(await claimQueued('flow'), 'flow');
    await inTransaction(test.database.pool, (trx) => recoverDeadSender(trx, OWNER));
    expect(await messagesOf()).toMatchObject(Array(3).fill({ status: 'unknown', segments: 3 }));
    await expectCharged(9);
    // The sender was alive after all. What is charged is not charged again.
    await record(ofBlock, () => took(2));
    await record(ofFlow, () => took(2));
    expect(await messagesOf()).toMatchObject(Array(3).fill({ status: 'sent', segments: 3 }));
    await expectCharged(9);
  });

  it('is claimed again without another charge if its sender dies before the intent', async () => {
    await campaignTo([german(), german()]);
    await claimTexts();
    await inTransaction(test.database.pool, (trx) => recoverDeadSender(trx, OWNER));
    expect(await monthsOf(test.database, account)).toMatchObject({ texts: 6 });
    await record(await intend(await claimTexts(), 'campaign'), () => took(2));
    await expectCharged(4);
  });

  it('is used by what it is charged if its outcome is unknown', async () => {
    await campaignTo([german()]);
    await record(await intend(await claimTexts(), 'campaign'), () => ({
      kind: 'unknown',
      reason: 'time-out',
    }));
    await flowTo(german());
    await record(await intend(await claimQueued('flow'), 'flow'), () => ({
      kind: 'unknown',
      reason: 'lost',
    }));
    await expectCharged(6);
  });

  it('is used by its segments if a report comes before the outcome', async () => {
    await campaignTo([german()]);
    const intended = await intend(await claimTexts(), 'campaign');
    await reportDelivered(leavingOf(intended));
    await record(intended, () => took(2));
    expect(await messagesOf()).toMatchObject([{ status: 'delivered', segments: 2 }]);
    await expectCharged(2);
  });

  it('is charged what it has reserved if a report comes, and its sender then dies', async () => {
    const campaign = await campaignTo([german(), german()]);
    const intended = await intend(await claimTexts(), 'campaign');
    await reportDelivered(leavingOf(intended).slice(0, 1));
    await inTransaction(test.database.pool, (trx) => recoverDeadSender(trx, OWNER));
    expect(await messagesOf()).toMatchObject([
      { status: 'delivered', segments: 3 },
      { status: 'unknown', segments: 3 },
    ]);
    await expectCharged(6);
    // The sender was alive after all.
    await record(intended, () => took(3));
    await cancel(campaign);
    await expectCharged(6);
  });
});

describe('a text of a flow that cannot be paid', () => {
  const holds = () =>
    query<{ status: string; reason: string | null }>(
      `select status, hold ->> 'reason' as reason from messages where account_id = $1 order by id`,
      account.accountId,
    );

  it.each([
    ['wallet', 'the funds do not cover its segments'],
    ['spend_cap', 'the spend cap does not cover its segments'],
  ])('waits for the %s while %s, and is charged once when they do', async (reason) => {
    // 2,000 millicents pay for two segments.
    if (reason === 'wallet') await credit(test.database, account, 2_000 - 100 * PRICE);
    else await query('update accounts set spend_cap_monthly_cents = 2 where id = $1', account.accountId);
    await flowTo(german());
    expect(await claimQueued('flow')).toEqual([]);
    expect(await holds()).toEqual([{ status: 'held', reason }]);
    await expectCharged(0);
    await credit(test.database, account, 1_000);
    await query('update accounts set spend_cap_monthly_cents = null where id = $1', account.accountId);
    await query(`with ${releaseCtes('$1::bigint')} select 1`, account.accountId);
    expect(await releaseHeldPage(test.database.pool, TEST_LIMITS)).toMatchObject({ released: 1 });
    await record(await intend(await claimQueued('flow'), 'flow'), () => took(3));
    expect(await messagesOf()).toMatchObject([{ status: 'sent', segments: 3 }]);
    await expectCharged(3);
  });

  it('fails once it has waited for 72 hours, and costs nothing', async () => {
    await credit(test.database, account, -100 * PRICE);
    await flowTo(german());
    expect(await claimQueued('flow')).toEqual([]);
    await query(
      `update send_queue set queued_at = now() - interval '73 hours', due_at = now() where account_id = $1`,
      account.accountId,
    );
    await record(await intend(await claimQueued('flow'), 'flow'), () => took(3));
    expect(await messagesOf()).toMatchObject([{ status: 'failed', code: 'insufficient_funds' }]);
    await expectCharged(0);
  });
});
