// A campaign that cannot be sent any further pauses with the reason: an empty sandbox, or a lost domain.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { intendBlock } from '../../../../src/delivery/ledger/intend/block-batch.ts';
import { endBlockClaim } from '../../../../src/delivery/ledger/blocks/claimed-blocks.ts';
import { outcomeRecords, recordsOfBlock } from '../../../../src/delivery/ledger/record/outcomes.ts';
import { createBatchRecording } from '../../../../src/delivery/ledger/record/record.ts';
import { readCampaign } from '../../../../src/features/campaigns/run/page.ts';
import { createCampaignRun } from '../../../../src/features/campaigns/run/run.ts';
import { resumeCampaign } from '../../../../src/features/campaigns/transitions.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { evaluationsIn } from '../../../support/campaign-runs.ts';
import {
  blocksOf,
  claimRecipients,
  writeCampaign,
  type WrittenCampaign,
} from '../../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertVerifiedDomain } from '../../../support/domains.ts';
import { testEvents } from '../../../support/events.ts';
import { insertAccount, insertSender, type QueuedAccount, statusCounts } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';
import { testKeyring } from '../../../support/webhooks.ts';

const OWNER = 85;
const HOUR_MS = 3_600_000;
const thresholds = { bounceRate: 1, minBounces: 100, complaintRate: 1, minComplaints: 100, minCounted: 100 };

let test: TestDatabase;
let account: QueuedAccount;
let campaign: WrittenCampaign;
let domainId: number;
let count = 0;

beforeAll(async () => {
  test = await createTestDatabase();
  await insertSender(test.database, OWNER);
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(test.database);
  count += 1;
  domainId = await insertVerifiedDomain(test.database, account, `u${count}.test`);
});

const query = (text: string, ...values: unknown[]) => test.database.pool.query(text, values);
const write = async (given: { domainId?: number }) => {
  const size = { recipients: 20, blockSize: 10, prefix: `u${count}-` };
  campaign = await writeCampaign(test.database, account, { ...size, ...given });
};

const run = () =>
  createCampaignRun({
    ...{ pool: test.database.pool, events: testEvents, waker: { wake: () => undefined } },
    evaluations: evaluationsIn(test.database.pool),
    ...{ limits: TEST_LIMITS, thresholds, plusAddresses: false, log: pino({ level: 'silent' }) },
  });
const look = (asOf = new Date()) => run().look(campaign.campaignId, asOf);
const row = () => readCampaign(test.database.pool, campaign.campaignId);
const stopped = (reason: string) => ({ status: 'paused', stop: { reason, rate: null, threshold: null } });

const claim = () => claimRecipients(test.database, { accountId: account.accountId, owner: OWNER });

const loseDomain = (ago: string) =>
  query(
    `update domains set status = 'failed', verified_at = null, lost_at = now() - $2::interval where id = $1`,
    ...[domainId, ago],
  );
const holds = async () =>
  (await blocksOf(test.database, campaign.campaignId)).map(({ hold_reason: reason }) => reason);

it('pauses when the sandbox has no sends left, and again after a resume that changes nothing', async () => {
  await query('update accounts set sandbox_monthly_cap = 12 where id = $1', account.accountId);
  await write({});
  expect(await claim()).toHaveLength(10);
  await look();
  expect(await row()).toMatchObject({ status: 'active' });
  expect(await claim()).toHaveLength(2);
  expect(await claim()).toEqual([]);
  await look();
  expect(await row()).toMatchObject(stopped('sandbox_limit_reached'));

  const resume = () =>
    inTransaction(test.database.pool, (trx) => resumeCampaign(trx, { id: campaign.campaignId }));
  await resume();
  expect(await claim()).toEqual([]);
  await look();
  expect(await row()).toMatchObject(stopped('sandbox_limit_reached'));

  await query('update accounts set sandbox_monthly_cap = 20 where id = $1', account.accountId);
  await resume();
  await look();
  expect(await row()).toMatchObject({ status: 'active', stop: null });
  expect(await claim()).toHaveLength(8);
});

describe('a campaign whose domain is lost', () => {
  it('holds its blocks, and pauses after 72 hours', async () => {
    await write({ domainId });
    await loseDomain('71 hours');
    expect(await claim()).toEqual([]);
    expect(await holds()).toEqual(['domain_unverified', 'domain_unverified']);
    await look();
    expect(await row()).toMatchObject({ status: 'active' });
    await look(new Date(Date.now() + 2 * HOUR_MS));
    expect(await row()).toMatchObject(stopped('sender_not_verified'));
  });

  it('continues when the domain is verified again', async () => {
    await write({ domainId });
    await loseDomain('80 hours');
    await query(`update domains set status = 'verified', lost_at = null where id = $1`, domainId);
    await look();
    expect(await row()).toMatchObject({ status: 'active' });
    expect(await claim()).toHaveLength(10);
  });
});

describe('a campaign whose domain is deleted', () => {
  beforeEach(() => write({ domainId }));
  const deleteDomain = () => query('delete from domains where id = $1', domainId);

  it('pauses at once, and leaves no recipient out', async () => {
    await deleteDomain();
    expect(await claim()).toEqual([]);
    expect(await holds()).toEqual(['domain_unverified', 'domain_unverified']);
    await look();
    expect(await row()).toMatchObject(stopped('sender_not_verified'));
    expect(await statusCounts(test.database, account.accountId)).toEqual({ queued: 20 });
  });

  it('takes back the block that a sender has claimed before', async () => {
    const claims = await claim();
    await deleteDomain();
    const [{ block = { campaignId: 0, n: 0, epoch: 0 } } = {}] = claims;
    const request = { owner: OWNER, seq: 1, provider: 'smtp', claims, keyring: testKeyring };
    const messages = await intendBlock(test.database.pool, request, block);
    const outcomes = recordsOfBlock(outcomeRecords('smtp', messages, []), [], []);
    const record = createBatchRecording({ pool: test.database.pool, events: testEvents });
    await record([{ owner: OWNER, seq: 1, block, outcomes }]);
    await endBlockClaim(test.database.pool, OWNER, block);
    expect(await statusCounts(test.database, account.accountId)).toEqual({ queued: 20 });
    expect(await claim()).toEqual([]);
  });
});
