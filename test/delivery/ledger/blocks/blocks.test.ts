// A campaign block is claimed, intended, recorded and recovered without a lost or repeated recipient.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  cancelCampaignMessages,
  requeueUnknown,
} from '../../../../src/delivery/ledger/blocks/campaign-blocks.ts';
import { campaignCounts } from '../../../../src/features/campaigns/campaign-counts.ts';
import { recountBlocks } from '../../../../src/delivery/ledger/blocks/tallies.ts';
import { lockCampaignForChange } from '../../../../src/delivery/ledger/ownership/campaign-lock.ts';
import { optOutHashes } from '../../../../src/delivery/ledger/consent/opt-outs.ts';
import type { HandOverOutcome } from '../../../../src/delivery/terms/hand-over-outcome.ts';
import { intendMessages } from '../../../../src/delivery/ledger/intend/queue-batch.ts';
import type { BatchMessage } from '../../../../src/delivery/ledger/intend/batch.ts';
import { endBlockClaim } from '../../../../src/delivery/ledger/blocks/claimed-blocks.ts';
import { intendBlock } from '../../../../src/delivery/ledger/intend/block-batch.ts';
import { claimBacklog } from '../../../../src/delivery/ledger/claim/claim.ts';
import type { Claim } from '../../../../src/delivery/ledger/ownership/claims.ts';
import { recoverDeadSender } from '../../../../src/delivery/ledger/upkeep/dead-process.ts';
import { outcomeRecords, recordsOfBlock } from '../../../../src/delivery/ledger/record/outcomes.ts';
import { createBatchRecording } from '../../../../src/delivery/ledger/record/record.ts';
import { recordUnappliedOptOut } from '../../../../src/delivery/ledger/consent/unapplied-opt-outs.ts';
import type { Database } from '../../../../src/platform/db/database.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import {
  blocksOf,
  claimRecipients,
  writeCampaign,
  type WrittenCampaign,
} from '../../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { testEvents } from '../../../support/events.ts';
import { eventually } from '../../../support/eventually.ts';
import { insertAccount, insertSender, type QueuedAccount, statusCounts } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';
import { countWaiting } from '../../../support/waiting.ts';
import { testKeyring } from '../../../support/webhooks.ts';

const OWNER = 70;
const OTHER = 71;

let test: TestDatabase;
/** Plans statements as a sender's database does. */
let database: Database;
let account: QueuedAccount;
let campaign: WrittenCampaign;
let seq = 0;
let prefix = 0;

beforeAll(async () => {
  test = await createTestDatabase({ keyedPlans: true });
  ({ database } = test);
  await insertSender(database, OWNER);
  await insertSender(database, OTHER);
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(database);
  campaign = await writeCampaign(database, account, {
    recipients: 20,
    blockSize: 10,
    prefix: `c${++prefix}-`,
    paths: ['first_name', 'data.plan', 'data.none'],
  });
});

const claim = (owner = OWNER, messages = 1_000) =>
  claimRecipients(database, { accountId: account.accountId, owner, messages });

const claimRetries = (owner: number) => {
  const request = { channel: 'email' as const, class: 2, accountId: account.accountId, owner, quantum: 10 };
  return claimBacklog(database.pool, request, TEST_LIMITS);
};

const requestOf = (claims: readonly Claim[], owner = OWNER) => ({
  owner,
  seq: ++seq,
  provider: 'smtp',
  claims,
  keyring: testKeyring,
});

async function intend(claims: readonly Claim[], owner = OWNER) {
  const request = requestOf(claims, owner);
  const block = claims[0]?.block;
  if (!block) throw new Error('no claims');
  return { ...request, block, messages: await intendBlock(database.pool, request, block) };
}

const accepted: HandOverOutcome = {
  kind: 'accepted',
  providerMessageId: null,
  response: '250 OK',
  delivered: false,
};

const recordBatches = () => createBatchRecording({ pool: database.pool, events: testEvents });

/**
 * Intends the claims and records the outcomes.
 * @param outcomeOf returns the outcome of the nth message that may leave
 */
async function send(
  claims: readonly Claim[],
  outcomeOf: (n: number) => HandOverOutcome = () => accepted,
  owner = OWNER,
) {
  const batch = await intend(claims, owner);
  const leaving = batch.messages.filter(({ verdict }) => verdict === 'send');
  const outcomes = leaving.map((_, n) => outcomeOf(n));
  const records = outcomeRecords('smtp', batch.messages, outcomes);
  await recordBatches()([
    { owner, seq: batch.seq, block: batch.block, outcomes: recordsOfBlock(records, leaving, outcomes) },
  ]);
  return batch.messages;
}

const end = (claims: readonly Claim[], owner = OWNER) => {
  const block = claims[0]?.block;
  if (!block) throw new Error('no claims');
  return endBlockClaim(database.pool, owner, block);
};

const counts = async () =>
  (await campaignCounts(database.pool, [campaign.campaignId])).get(campaign.campaignId);
const blocks = () => blocksOf(database, campaign.campaignId);
const verdictsOf = (messages: readonly BatchMessage[]) => [
  ...new Set(messages.map(({ verdict }) => verdict)),
];
const update = (sql: string, ...values: unknown[]) => database.pool.query(sql, values);
const setCampaign = (set: string) => update(`update campaigns set ${set} where id = $1`, campaign.campaignId);

async function usedPlaces(): Promise<number> {
  const { rows } = await database.pool.query<{ used: number }>(
    'select coalesce(sum(used), 0)::int as used from allowance_buckets where account_id = $1',
    [account.accountId],
  );
  return rows[0]?.used ?? 0;
}

async function queueRows() {
  const { rows } = await database.pool.query<{
    message_id: number;
    attempt_count: number;
    connection_losses: number;
    due_now: boolean;
    reserved: boolean;
  }>(
    `select message_id, attempt_count, connection_losses, due_at <= now() as due_now, reserved_bucket is not null as reserved
     from send_queue where campaign_id = $1 order by message_id`,
    [campaign.campaignId],
  );
  return rows;
}

describe('a claim', () => {
  it('takes the messages of the first due block and reserves their places', async () => {
    const claims = await claim();
    expect(claims.map(({ messageId }) => messageId)).toEqual(campaign.messageIds.slice(0, 10));
    expect(await blocks()).toMatchObject([
      { owner: OWNER, claim_epoch: 1, reserved: 10 },
      { owner: null, claim_epoch: 0, reserved: 0 },
    ]);
    expect(await usedPlaces()).toBe(10);
    const others = await claim(OTHER);
    expect(others.map(({ messageId }) => messageId)).toEqual(campaign.messageIds.slice(10));
    expect(await claim(OTHER)).toEqual([]);
  });

  it('takes the block of a campaign that is due first, and none that is locked', async () => {
    const second = await writeCampaign(database, account, {
      recipients: 4,
      blockSize: 2,
      prefix: `z${prefix}-`,
    });
    const setDue = (id: number, n: number, ago: number) =>
      update(
        'update campaign_blocks set due_at = now() - make_interval(mins => $3) where campaign_id = $1 and n = $2',
        ...[id, n, ago],
      );
    await setDue(second.campaignId, 1, 3);
    await setDue(second.campaignId, 0, 2);
    await setDue(campaign.campaignId, 1, 1);
    await inTransaction(database.pool, async (trx) => {
      await trx.query('select 1 from campaign_blocks where campaign_id = $1 and n = 1 for update', [
        second.campaignId,
      ]);
      expect((await claim()).map(({ messageId }) => messageId)).toEqual(second.messageIds.slice(0, 2));
    });
    // Now it is the turn of the other campaign.
    expect((await claim()).map(({ messageId }) => messageId)).toEqual(campaign.messageIds.slice(10));
    expect((await claim()).map(({ messageId }) => messageId)).toEqual(second.messageIds.slice(2));
  });

  it('takes no block of a paused campaign, nor one that is not due', async () => {
    await setCampaign(`status = 'paused'`);
    expect(await claim()).toEqual([]);
    await setCampaign(`status = 'active'`);
    await update(
      `update campaign_blocks set due_at = 'infinity' where campaign_id = $1`,
      campaign.campaignId,
    );
    expect(await claim()).toEqual([]);
  });

  it("reserves new places if the block's no longer count", async () => {
    await update(
      `update campaign_blocks set reserved = 10, reserved_bucket = now() - interval '25 hours' where campaign_id = $1`,
      campaign.campaignId,
    );
    await update('update accounts set allowance_per_day = 6 where id = $1', account.accountId);
    expect(await claim()).toHaveLength(6);
    expect(await usedPlaces()).toBe(6);
    expect((await blocks()).map(({ reserved }) => reserved)).toEqual([6, 0, 10]);
    expect(await claim()).toEqual([]);
  });

  it('claims nothing for a process that was taken for dead', async () => {
    expect(await claim(12_345)).toEqual([]);
  });

  it('splits a block that is larger than what remains of the allowance, and holds the rest', async () => {
    await update('update accounts set allowance_per_day = 6 where id = $1', account.accountId);
    const claims = await claim();
    expect(claims.map(({ messageId }) => messageId)).toEqual(campaign.messageIds.slice(0, 6));
    expect(await claim()).toEqual([]);
    expect(await blocks()).toMatchObject([
      { owner: OWNER, size: 6, reserved: 6, hold_reason: null },
      { owner: null, size: 4, reserved: 0, hold_reason: 'allowance' },
      { owner: null, size: 10, hold_reason: 'allowance' },
    ]);
    expect(await usedPlaces()).toBe(6);
    expect(await counts()).toMatchObject({ audience: 20, remaining: 20 });
  });

  it('takes no more messages than the sender wants', async () => {
    expect(await claim(OWNER, 4)).toHaveLength(4);
    expect((await blocks()).map(({ size }) => size)).toEqual([4, 6, 10]);
  });

  it('holds the blocks of a paused account', async () => {
    await update('update accounts set sending_paused_at = now() where id = $1', account.accountId);
    expect(await claim()).toEqual([]);
    expect((await blocks()).map(({ hold_reason: reason }) => reason)).toEqual([
      'account_paused',
      'account_paused',
    ]);
  });
});

describe('an intent', () => {
  it('returns the values of the contact that the version names, and names the block', async () => {
    const { messages, seq: of } = await intend(await claim());
    expect(messages).toHaveLength(10);
    expect(messages[0]).toMatchObject({
      verdict: 'send',
      attempt: 1,
      contentVersionId: campaign.versionId,
      html: null,
      campaign: {
        id: campaign.campaignId,
        name: 'Spring sale',
        variant: 0,
        contactId: campaign.contactIds[0],
        contact: { first_name: 'Ada 1', 'data.plan': 'pro' },
      },
    });
    const { rows } = await database.pool.query('select * from handovers where seq = $1', [of]);
    expect(rows).toMatchObject([
      {
        message_ids: campaign.messageIds.slice(0, 10),
        campaign_id: campaign.campaignId,
        block_n: 0,
        block_epoch: 1,
      },
    ]);
  });

  it('covers no message of a block that another process has claimed since', async () => {
    const claims = await claim();
    await inTransaction(database.pool, (trx) => recoverDeadSender(trx, OWNER));
    expect((await intend(claims)).messages).toEqual([]);
    expect((await intend(await claim(OTHER), OTHER)).messages).toHaveLength(10);
  });

  it('sends nothing of a paused campaign, and gives its block back', async () => {
    const claims = await claim();
    await setCampaign(`status = 'paused'`);
    expect(verdictsOf(await send(claims))).toEqual(['campaign_stopped']);
    await end(claims);
    expect(await blocks()).toMatchObject([{ owner: null, closed: false, reserved: 10 }, {}]);
    expect(await usedPlaces()).toBe(10);
  });

  it('skips contacts who unsubscribed, were suppressed or deleted after the snapshot', async () => {
    const [unsubscribed, suppressed, deleted] = campaign.contactIds;
    await update('update contacts set email_subscribed = false where id = $1', unsubscribed);
    await update(
      `insert into suppressions (account_id, address_key, email, reason)
       select account_id, email_key, email, 'manual' from contacts where id = $1`,
      suppressed,
    );
    await update('delete from contacts where id = $1', deleted);
    const claims = await claim();
    await send(claims);
    await end(claims);
    const { rows } = await database.pool.query(
      `select failure ->> 'code' as code from messages where campaign_id = $1 and status = 'skipped' order by id`,
      [campaign.campaignId],
    );
    expect(rows).toEqual([{ code: 'unsubscribed' }, { code: 'suppressed' }, { code: 'contact_deleted' }]);
    expect(await counts()).toMatchObject({ audience: 20, sent: 7, skipped: 3, remaining: 10 });
    expect(await usedPlaces()).toBe(7);
  });

  it('skips a recipient whose opt-out is known only by its HMAC and not applied to the contact yet', async () => {
    const { accountId, brandId } = account;
    const of = { brandId, channel: 'email' } as const;
    const claims = await claim();
    const [hash = Buffer.alloc(0)] = optOutHashes(testKeyring, {
      ...of,
      address: `c${prefix}-2@example.com`,
    });
    const optOut = { ...of, accountId, source: 'one_click', messageId: null } as const;
    await inTransaction(database.pool, (trx) => recordUnappliedOptOut(trx, hash, optOut));
    const sent = await send(claims);
    expect(sent.map(({ verdict }) => verdict).slice(0, 3)).toEqual(['send', 'unsubscribed', 'send']);
    await end(claims);
    const { rows } = await database.pool.query(
      `select id, failure ->> 'code' as code from messages where campaign_id = $1 and status = 'skipped'`,
      [campaign.campaignId],
    );
    expect(rows).toEqual([{ id: campaign.messageIds[1], code: 'unsubscribed' }]);
    expect(await counts()).toMatchObject({ sent: 9, skipped: 1, remaining: 10 });
    expect(await usedPlaces()).toBe(9);
  });

  it('skips an address that its contact no longer has', async () => {
    await update(
      `update contacts set email = 'moved@example.com', email_key = 'moved@example.com' where id = $1`,
      campaign.contactIds[0],
    );
    const claims = await claim();
    expect((await send(claims)).map(({ verdict }) => verdict).slice(0, 2)).toEqual(['no_address', 'send']);
    await end(claims);
    expect(await counts()).toMatchObject({ sent: 9, skipped: 1 });
  });

  it('waits for a pause that has the lock, and obeys it', async () => {
    const claims = await claim();
    let intending: ReturnType<typeof intend> | undefined;
    await inTransaction(database.pool, async (trx) => {
      await lockCampaignForChange(trx, campaign.campaignId);
      await trx.query(`update campaigns set status = 'paused' where id = $1`, [campaign.campaignId]);
      intending = intend(claims);
      await eventually(async () => expect(await countWaiting(database.pool)).toBeGreaterThan(0));
    });
    expect(verdictsOf((await intending)?.messages ?? [])).toEqual(['campaign_stopped']);
  });

  it('sends nothing if the content was changed while it waited for the lock', async () => {
    const claims = await claim();
    let intending: ReturnType<typeof intend> | undefined;
    await inTransaction(database.pool, async (trx) => {
      await lockCampaignForChange(trx, campaign.campaignId);
      await trx.query(
        `with version as (
           insert into template_versions (template_id, account_id, brand_id, channel, content_hash, subject, html, text, paths)
           select template_id, account_id, brand_id, channel, '\\x01', subject, 'New', 'New', paths
           from template_versions where id = $2 returning id)
         update campaigns set version_ids = array[version.id] from version where campaigns.id = $1`,
        [campaign.campaignId, campaign.versionId],
      );
      intending = intend(claims);
      await eventually(async () => expect(await countWaiting(database.pool)).toBeGreaterThan(0));
    });
    expect(verdictsOf((await intending)?.messages ?? [])).toEqual(['campaign_stopped']);
    expect(verdictsOf((await intend(claims)).messages)).toEqual(['send']);
  });

  it('sends no retry of an ended campaign unless an attempt is unknown', async () => {
    const claims = await claim();
    await send(claims, (n) => (n === 0 ? { kind: 'deferred', response: '450 later' } : accepted));
    await update('update send_queue set due_at = now() where campaign_id = $1', campaign.campaignId);
    const retries = await claimRetries(OWNER);
    await setCampaign(`status = 'completed', phase = 'done', outcome = 'canceled'`);
    expect(verdictsOf(await intendMessages(database.pool, requestOf(retries)))).toEqual(['campaign_stopped']);
  });
});

describe('a record', () => {
  it('closes a block whose messages have outcomes, and returns the places of those that failed', async () => {
    const claims = await claim();
    await send(claims, (n) => (n < 2 ? { kind: 'refused', code: 'rejected', response: '554 no' } : accepted));
    await end(claims);
    expect((await blocks())[0]).toMatchObject({ closed: true, owner: null, reserved: 0 });
    expect(await usedPlaces()).toBe(8);
    expect(await counts()).toMatchObject({ sent: 8, failed: 2, remaining: 10 });
    await recountBlocks(database.pool, campaign.campaignId);
    expect((await blocks())[0]).toMatchObject({ recount: false });
    expect(await counts()).toMatchObject({ sent: 8, failed: 2, remaining: 10 });
    const { rows } = await database.pool.query(
      `select (select count(*)::int from message_events where message_id = any($1) and type = 'sent') as sent_events,
         (select count(*)::int from webhook_deliveries) as webhooks,
         (select sum(email_sent)::int from usage_changes where account_id = $2) as counted`,
      [campaign.messageIds, account.accountId],
    );
    expect(rows).toEqual([{ sent_events: 0, webhooks: 0, counted: 8 }]);
  });

  it('queues messages to be tried again, with their places, and closes their block', async () => {
    const claims = await claim();
    await send(claims, (n) => (n === 3 ? { kind: 'deferred', response: '450 later' } : accepted));
    await end(claims);
    expect((await blocks())[0]).toMatchObject({ closed: true });
    expect(await queueRows()).toEqual([
      {
        message_id: campaign.messageIds[3],
        attempt_count: 1,
        connection_losses: 0,
        due_now: false,
        reserved: true,
      },
    ]);
    expect(await counts()).toMatchObject({ sent: 9, remaining: 11 });
    await recountBlocks(database.pool, campaign.campaignId);

    await update('update send_queue set due_at = now() where campaign_id = $1', campaign.campaignId);
    const retries = await claimRetries(OWNER);
    const batch = requestOf(retries);
    const messages = await intendMessages(database.pool, batch);
    expect(messages).toMatchObject([{ verdict: 'send', attempt: 2, campaign: { id: campaign.campaignId } }]);
    await recordBatches()([
      { owner: OWNER, seq: batch.seq, outcomes: outcomeRecords('smtp', messages, [accepted]) },
    ]);
    expect(await counts()).toMatchObject({ sent: 10, remaining: 10 });
    expect(await usedPlaces()).toBe(10);
    expect(await queueRows()).toEqual([]);
  });

  it('queues a message that lost its connection, so that it is handed over alone at once', async () => {
    const claims = await claim();
    await send(claims, (n) => (n === 0 ? { kind: 'lost', reason: 'reset' } : accepted));
    expect(await queueRows()).toMatchObject([{ attempt_count: 0, connection_losses: 1, due_now: true }]);
  });

  it('returns messages to their block after a provider fault', async () => {
    const claims = await claim();
    await send(claims, (n) => (n < 6 ? accepted : { kind: 'fault', reason: 'down' }));
    await end(claims);
    expect((await blocks())[0]).toMatchObject({ closed: false, owner: null, reserved: 4 });
    const again = await claim(OTHER);
    expect(again.map(({ messageId }) => messageId)).toEqual(campaign.messageIds.slice(6, 10));
    await send(again, () => accepted, OTHER);
    await end(again, OTHER);
    expect((await blocks())[0]).toMatchObject({ closed: true, claim_epoch: 2 });
    expect(await usedPlaces()).toBe(10);
  });

  it('does not end the claim of a block while an intent of it is open', async () => {
    const claims = await claim();
    await intend(claims);
    expect(await end(claims)).toBe(false);
    expect((await blocks())[0]).toMatchObject({ owner: OWNER });
  });
});

describe('a dead sender', () => {
  it('leaves the messages of its intents unknown, and the rest of its blocks to other senders', async () => {
    const claims = await claim();
    await intend(claims.slice(0, 4));
    await inTransaction(database.pool, (trx) => recoverDeadSender(trx, OWNER));
    expect(await statusCounts(database, account.accountId)).toEqual({ unknown: 4, queued: 16 });
    const others = await claim(OTHER);
    expect(others.map(({ messageId }) => messageId)).toEqual(campaign.messageIds.slice(4, 10));
    await send(others, () => accepted, OTHER);
    await end(others, OTHER);
    expect(await counts()).toMatchObject({ sent: 6, unknown: 4, remaining: 10 });
    expect(await usedPlaces()).toBe(10);
    const { rows } = await database.pool.query(
      `select count(*)::int as count from message_events where message_id = any($1) and type = 'unknown'`,
      [campaign.messageIds],
    );
    expect(rows).toEqual([{ count: 4 }]);
  });

  it('that was still alive gets its outcomes recorded and counted', async () => {
    const claims = await claim();
    const batch = await intend(claims);
    await inTransaction(database.pool, (trx) => recoverDeadSender(trx, OWNER));
    expect(await counts()).toMatchObject({ unknown: 10 });
    expect(await claim(OTHER)).toHaveLength(0);
    await recountBlocks(database.pool, campaign.campaignId);
    const outcomes = batch.messages.map(() => accepted);
    const records = outcomeRecords('smtp', batch.messages, outcomes);
    await recordBatches()([
      {
        owner: OWNER,
        seq: batch.seq,
        block: batch.block,
        outcomes: recordsOfBlock(records, batch.messages, outcomes),
      },
    ]);
    expect(await counts()).toMatchObject({ sent: 10, unknown: 0 });
    expect(await usedPlaces()).toBe(10);
  });
});

describe('a cancellation', () => {
  it('cancels all waiting recipients, in pages, but not those under way', async () => {
    const claims = await claim();
    await intend(claims.slice(0, 2));
    await send(claims.slice(2, 4), (n) => (n === 0 ? accepted : { kind: 'deferred', response: '450 later' }));
    await setCampaign(`status = 'completed', outcome = 'canceled'`);
    const page = () =>
      inTransaction(database.pool, (trx) => cancelCampaignMessages(trx, campaign.campaignId, 1_000));
    let last = await page();
    for (let pages = 1; pages < 4; pages += 1) last = await page();
    expect(last).toEqual({ canceled: 0, done: false });
    expect(await counts()).toMatchObject({ sent: 1, canceled: 17, remaining: 2 });
    expect(await queueRows()).toEqual([]);
    await inTransaction(database.pool, (trx) => recoverDeadSender(trx, OWNER));
    expect(await page()).toEqual({ canceled: 0, done: true });
    expect(await counts()).toMatchObject({ sent: 1, canceled: 17, unknown: 2, remaining: 0 });
    expect(await usedPlaces()).toBe(3);
  });
});

it('queues unknown recipients once more with their attempts', async () => {
  const claims = await claim();
  await intend(claims.slice(0, 3));
  await inTransaction(database.pool, (trx) => recoverDeadSender(trx, OWNER));
  await setCampaign(`status = 'completed', phase = 'done'`);
  const requeue = (limit: number) =>
    inTransaction(database.pool, (trx) => requeueUnknown(trx, campaign.campaignId, limit));
  expect(await requeue(2)).toBe(2);
  expect(await requeue(2)).toBe(1);
  expect(await requeue(2)).toBe(0);
  expect(await queueRows()).toMatchObject([{ attempt_count: 1 }, { attempt_count: 1 }, { attempt_count: 1 }]);
  const retries = await claimRetries(OTHER);
  const messages = await intendMessages(database.pool, requestOf(retries, OTHER));
  expect(messages.map(({ verdict, attempt, uncertain }) => ({ verdict, attempt, uncertain }))).toEqual(
    Array.from({ length: 3 }, () => ({ verdict: 'send', attempt: 2, uncertain: true })),
  );
});
