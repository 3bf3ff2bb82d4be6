// A recipient with an unknown attempt stays unknown, even if a later attempt is held, skipped or canceled.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  cancelCampaignMessages,
  requeueUnknown,
} from '../../../src/delivery/ledger/blocks/campaign-blocks.ts';
import { campaignCounts } from '../../../src/features/campaigns/campaign-counts.ts';
import { cancelMessages, skipRecipients } from '../../../src/delivery/ledger/cancel/cancel.ts';
import { intendBlock } from '../../../src/delivery/ledger/intend/block-batch.ts';
import { claimBacklog } from '../../../src/delivery/ledger/claim/claim.ts';
import { recoverDeadSender } from '../../../src/delivery/ledger/upkeep/dead-process.ts';
import type { Database } from '../../../src/platform/db/database.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { claimRecipients, writeCampaign, type WrittenCampaign } from '../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { insertAccount, insertSender, type QueuedAccount } from '../../support/queued.ts';
import { TEST_LIMITS } from '../../support/sending.ts';
import { testKeyring } from '../../support/webhooks.ts';

const OWNER = 70;
const OTHER = 71;

let test: TestDatabase;
/** Plans statements as a sender's database does. */
let database: Database;
let account: QueuedAccount;
let campaign: WrittenCampaign;
let seq = 0;

beforeAll(async () => {
  test = await createTestDatabase({ keyedPlans: true });
  ({ database } = test);
  await insertSender(database, OWNER);
  await insertSender(database, OTHER);
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(database);
  campaign = await writeCampaign(database, account, { recipients: 20, blockSize: 10, prefix: `u${seq}-` });
});

const update = (sql: string, ...values: unknown[]) => database.pool.query(sql, values);

const claimRetries = () => {
  const request = { channel: 'email' as const, class: 2, accountId: account.accountId, owner: OTHER };
  return claimBacklog(database.pool, { ...request, quantum: 10 }, TEST_LIMITS);
};

describe('a recipient with an unknown attempt', () => {
  const recipient = () => campaign.messageIds[0] ?? 0;
  const state = async () => {
    const { rows } = await database.pool.query<{ status: string; queued: number; used: number }>(
      `select status, (select count(*)::int from send_queue where campaign_id = $2) as queued,
         (select sum(used)::int from allowance_buckets where account_id = $3) as used
       from messages where id = $1`,
      [recipient(), campaign.campaignId, account.accountId],
    );
    return rows[0];
  };

  /** Leaves one recipient unknown, and queues another attempt, which has a place. */
  async function requeue(): Promise<void> {
    const claims = await claimRecipients(database, { accountId: account.accountId, owner: OWNER });
    const [first] = claims;
    if (!first?.block) throw new Error('no claims');
    const request = { owner: OWNER, seq: ++seq, provider: 'smtp', claims: [first], keyring: testKeyring };
    await intendBlock(database.pool, request, first.block);
    await inTransaction(database.pool, (trx) => recoverDeadSender(trx, OWNER));
    await inTransaction(database.pool, (trx) => requeueUnknown(trx, campaign.campaignId, 10));
    expect(await claimRetries()).toHaveLength(1);
    await update('update send_queue set owner = null where message_id = $1', recipient());
  }

  it('stays unknown if the other attempt is held', async () => {
    await requeue();
    await update('update accounts set sending_paused_at = now() where id = $1', account.accountId);
    expect(await claimRetries()).toEqual([]);
    expect(await state()).toMatchObject({ status: 'unknown', queued: 1 });
  });

  it('is unknown, not canceled, if its queue row is canceled', async () => {
    await requeue();
    await inTransaction(database.pool, (trx) => cancelMessages(trx, [recipient()], 'gone'));
    expect(await state()).toEqual({ status: 'unknown', queued: 0, used: 11 });
  });

  it('is unknown, not skipped or canceled, if it was queued again', async () => {
    await requeue();
    await update(`update messages set status = 'queued' where id = $1`, recipient());
    const failure = { code: 'contact_deleted', message: 'gone' } as const;
    await inTransaction(database.pool, (trx) => skipRecipients(trx, [recipient()], failure));
    expect(await state()).toEqual({ status: 'unknown', queued: 0, used: 11 });
  });

  it('is unknown, not canceled, if its campaign is canceled', async () => {
    await requeue();
    await update(`update messages set status = 'held' where id = $1`, recipient());
    await update(
      `update campaigns set status = 'completed', outcome = 'canceled' where id = $1`,
      campaign.campaignId,
    );
    const page = () =>
      inTransaction(database.pool, (trx) => cancelCampaignMessages(trx, campaign.campaignId, 1_000));
    // A page has retries or recipients of blocks.
    for (let pages = 0; pages < 3; pages += 1) await page();
    expect(await state()).toMatchObject({ status: 'unknown', queued: 0 });
    const counts = (await campaignCounts(database.pool, [campaign.campaignId])).get(campaign.campaignId);
    expect(counts).toMatchObject({ unknown: 1, canceled: 19, remaining: 0 });
  });
});
