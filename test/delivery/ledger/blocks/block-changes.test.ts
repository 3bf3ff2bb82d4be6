// The blocks and counts of a campaign stay correct after late reports, deleted contacts and failed providers.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { campaignCounts } from '../../../../src/features/campaigns/campaign-counts.ts';
import { recountBlocks } from '../../../../src/delivery/ledger/blocks/tallies.ts';
import type { DeliveryFact } from '../../../../src/delivery/ledger/facts/delivery-fact.ts';
import { recordFacts } from '../../../../src/delivery/ledger/facts/facts.ts';
import { backlogName, BLOCKS_CLASS } from '../../../../src/delivery/terms/backlog.ts';
import { createBacklogs } from '../../../../src/delivery/sender/turns/backlogs.ts';
import { intendBlock } from '../../../../src/delivery/ledger/intend/block-batch.ts';
import { claimBlock } from '../../../../src/delivery/ledger/blocks/claim-blocks.ts';
import type { Claim } from '../../../../src/delivery/ledger/ownership/claims.ts';
import { recoverDeadSender } from '../../../../src/delivery/ledger/upkeep/dead-process.ts';
import { recordOutage } from '../../../../src/delivery/sender/failover/reroute.ts';
import {
  holdUnavailableBlocks,
  rerouteBlocks,
} from '../../../../src/delivery/sender/failover/reroute-blocks.ts';
import { setAccount } from '../../../../src/features/accounts/service.ts';
import { clearPage } from '../../../../src/features/contacts/removal-work.ts';
import { removeContact } from '../../../../src/features/contacts/remove.ts';
import type { Database } from '../../../../src/platform/db/database.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { blocksOf, writeCampaign, type WrittenCampaign } from '../../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { testEvents } from '../../../support/events.ts';
import { insertAccount, insertSender, type QueuedAccount } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';
import { testKeyring } from '../../../support/webhooks.ts';

const OWNER = 70;

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
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(database);
  campaign = await writeCampaign(database, account, {
    recipients: 10,
    blockSize: 5,
    prefix: `d${++prefix}-`,
  });
});

const backlog = () => ({ channel: 'email' as const, accountId: account.accountId, providerId: 0 });

const claim = async (messages = 1_000): Promise<Claim[]> =>
  (await claimBlock(database.pool, { ...backlog(), owner: OWNER, messages }, TEST_LIMITS)).claims;

async function intend(claims: readonly Claim[]) {
  const block = claims[0]?.block;
  if (!block) throw new Error('no claims');
  return intendBlock(
    database.pool,
    { owner: OWNER, seq: ++seq, provider: 'smtp', claims, keyring: testKeyring },
    block,
  );
}

const die = () => inTransaction(database.pool, (trx) => recoverDeadSender(trx, OWNER));

const counts = async () =>
  (await campaignCounts(database.pool, [campaign.campaignId])).get(campaign.campaignId);

const delivered = (messageId: number): DeliveryFact => ({
  ...{ accountId: account.accountId, messageId, source: { kind: 'mail' }, type: 'delivered' },
  occurredAt: new Date(),
  ...{ providerMessageId: null, response: null, bounce: null, failure: null, suppresses: false },
});

it('counts an unknown recipient as sent once a report says so, in a block that is closed and counted', async () => {
  const claims = await claim();
  await intend(claims);
  await die();
  // The block has no open recipients, so the next claim closes it.
  await claim();
  await recountBlocks(database.pool, campaign.campaignId);
  expect(await counts()).toMatchObject({ sent: 0, unknown: 5, remaining: 5 });
  await inTransaction(database.pool, (trx) =>
    recordFacts(trx, [delivered(campaign.messageIds[0] ?? 0)], testEvents),
  );
  expect(await counts()).toMatchObject({ sent: 1, unknown: 4, remaining: 5 });
  expect((await blocksOf(database, campaign.campaignId))[0]).toMatchObject({ closed: true, recount: true });
});

it('counts complaints and hard bounces of messages that were sent before', async () => {
  const { campaignId, messageIds } = campaign;
  const report = (messageId = 0, change: Partial<DeliveryFact> = {}) =>
    inTransaction(database.pool, (trx) =>
      recordFacts(trx, [{ ...delivered(messageId), ...change }], testEvents),
    );
  const tallies = async () => {
    await recountBlocks(database.pool, campaignId);
    const { rows } = await database.pool.query(
      'select sent, complained, bounced, recount from campaign_blocks where campaign_id = $1 and n = 0',
      [campaignId],
    );
    return rows[0] as unknown;
  };
  const bounceOf = (type: 'soft' | 'hard'): Partial<DeliveryFact> => ({
    type: 'bounced',
    bounce: { type, subtype: 'other', diagnostic: '5.0.0' },
  });
  await intend(await claim());
  await die();
  await claim();
  for (const messageId of messageIds.slice(0, 4)) await report(messageId, { type: 'accepted' });
  await report(messageIds[4], bounceOf('soft'));
  expect(await tallies()).toEqual({ sent: 5, complained: 0, bounced: 0, recount: false });
  await report(messageIds[0], { type: 'complained' });
  expect(await tallies()).toEqual({ sent: 5, complained: 1, bounced: 0, recount: false });
  await report(messageIds[1], bounceOf('hard'));
  await report(messageIds[4], bounceOf('hard'));
  expect(await tallies()).toEqual({ sent: 5, complained: 1, bounced: 2, recount: false });
});

it('sends only messages inside the block after a lost claim was repeated for a part of it', async () => {
  const lost = await claim();
  // The commit of a claim does not wait for the disk, so a crash of the database may undo it.
  await database.pool.query(
    `update campaign_blocks set owner = null, claim_epoch = 0, reserved = 0, reserved_bucket = null
     where campaign_id = $1 and n = 0`,
    [campaign.campaignId],
  );
  const [again] = await claim(2);
  expect(again?.block).toEqual(lost[0]?.block);
  const verdicts = (await intend(lost)).map(({ verdict }) => verdict);
  expect(verdicts).toEqual(['send', 'send', 'gone', 'gone', 'gone']);
});

describe('a deleted contact', () => {
  const log = pino({ level: 'silent' });
  const remove = async (contactId: number) => {
    const tenant = { accountId: account.accountId, brandId: account.brandId };
    await removeContact(database.pool, tenant, contactId);
    let more = true;
    while (more) more = await clearPage(database.pool, { asOf: new Date(), further: [], log });
  };
  const stateOf = async (messageId: number | undefined) => {
    const { rows } = await database.pool.query<{ status: string; code: string | null; to: string | null }>(
      `select status, failure ->> 'code' as code, to_key as "to" from messages where id = $1`,
      [messageId],
    );
    return rows[0];
  };

  it('is skipped by a campaign that has not reached it', async () => {
    await remove(campaign.contactIds[0] ?? 0);
    expect(await stateOf(campaign.messageIds[0])).toEqual({
      status: 'skipped',
      code: 'contact_deleted',
      to: null,
    });
    // Its block was never claimed, so it is counted from its rows now.
    expect(await counts()).toMatchObject({ audience: 10, skipped: 1, remaining: 9 });
    const claims = await claim();
    expect(claims.map(({ messageId }) => messageId)).toEqual(campaign.messageIds.slice(1, 5));
  });

  it('is left alone while an intent covers its message', async () => {
    await intend(await claim());
    await remove(campaign.contactIds[0] ?? 0);
    expect(await stateOf(campaign.messageIds[0])).toMatchObject({
      status: 'queued',
      to: `d${prefix}-1@example.com`,
    });
  });
});

describe('a deleted contact of a campaign that is being written', () => {
  const log = pino({ level: 'silent' });
  const clear = async (minutes: number) => {
    const asOf = new Date(Date.now() + minutes * 60_000);
    let more = true;
    for (let pages = 0; more && pages < 20; pages += 1) {
      more = await clearPage(database.pool, { asOf, further: [], log });
    }
  };
  const addressOf = async (messageId = 0) => {
    const { rows } = await database.pool.query<{ to_key: string | null }>(
      'select to_key from messages where id = $1',
      [messageId],
    );
    return rows[0]?.to_key;
  };

  it('is removed with the address of its message, even if the campaign never writes its other recipients', async () => {
    const [messageId = 0] = campaign.messageIds;
    await database.pool.query(`update campaigns set phase = 'snapshot' where id = $1`, [campaign.campaignId]);
    await intend(await claim());
    await inTransaction(database.pool, (trx) => recordFacts(trx, [delivered(messageId)], testEvents));
    const tenant = { accountId: account.accountId, brandId: account.brandId };
    await database.pool.query(`update campaigns set status = 'paused' where id = $1`, [campaign.campaignId]);
    await removeContact(database.pool, tenant, campaign.contactIds[0] ?? 0);
    await clear(0);
    expect(await addressOf(messageId)).toBeNull();
    // A minute later the deletion repeats its whole pass, and nothing of the contact is left.
    await clear(2);
    const { rows } = await database.pool.query('select 1 from contact_removals where account_id = $1', [
      account.accountId,
    ]);
    expect(rows).toEqual([]);
  });
});

describe('held blocks', () => {
  const holds = async () =>
    (await blocksOf(database, campaign.campaignId)).map(({ hold_reason: reason }) => reason);

  it('are sent as soon as the allowance is raised', async () => {
    await setAccount(database.pool, account.accountId, { allowancePerDay: 0 });
    expect(await claim()).toEqual([]);
    expect(await holds()).toEqual(['allowance', 'allowance']);
    await setAccount(database.pool, account.accountId, { allowancePerDay: 100 });
    expect(await holds()).toEqual([null, null]);
    expect(await claim()).toHaveLength(5);
  });

  it('wait for a provider that cannot be used', async () => {
    expect(await holdUnavailableBlocks(database.pool, backlog())).toBe(10);
    expect(await holds()).toEqual(['provider_unavailable', 'provider_unavailable']);
    expect(await claim()).toEqual([]);
  });
});

it("moves blocks to the account's next provider if their own fails", async () => {
  const { rows } = await database.pool.query<{ id: number }>(
    `insert into providers (channel, name, kind, settings_sealed, callback_token_sealed, callback_digest)
     values ('email', $1, 'smtp', '', '', sha256($1::text::bytea)) returning id`,
    [`second-${prefix}`],
  );
  const second = rows[0]?.id ?? 0;
  await database.pool.query('update accounts set email_provider_ids = $2 where id = $1', [
    account.accountId,
    [0, second],
  ]);
  await recordOutage(database.pool, backlog(), { ageMs: 60_000, retryMs: 1_000 });
  await claim();
  // The claimed block stays.
  expect(await rerouteBlocks(database.pool, backlog())).toEqual({ moved: 5, providerId: second });
  await database.pool.query('delete from provider_outages');
});

it('finds blocks in the walk over backlogs only while their campaign is active', async () => {
  const names = async () => {
    const backlogs = createBacklogs(database.pool);
    await backlogs.refresh();
    return [...backlogs.due('email')].map(({ name }) => name);
  };
  const name = backlogName({ ...backlog(), class: BLOCKS_CLASS });
  expect(await names()).toContain(name);
  await database.pool.query(`update campaigns set status = 'paused' where id = $1`, [campaign.campaignId]);
  expect(await names()).not.toContain(name);
});
