// What the messages of a block have in common is read once, and known of each of them.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { intendBlock } from '../../../../src/delivery/ledger/intend/block-batch.ts';
import { claimRecipients, writeCampaign } from '../../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertAccount, insertSender } from '../../../support/queued.ts';
import { testKeyring } from '../../../support/webhooks.ts';

const OWNER = 72;

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase({ keyedPlans: true });
  await insertSender(test.database, OWNER);
});
afterAll(() => test.drop());

it('knows sender, tracking and date of each message of a block, also if the first is no longer its own', async () => {
  const { database } = test;
  const account = await insertAccount(database);
  const { messageIds, campaignId } = await writeCampaign(database, account, { recipients: 3, prefix: 'c' });
  const tracking = { opens: true, clicks: true, host: 'https://links.example.com', key: '01020304' };
  await database.pool.query(
    `update messages set tracking = $2, reply_to = 'r@example.com', created_at = '2026-01-02 03:04Z'
     where campaign_id = $1`,
    [campaignId, tracking],
  );
  await database.pool.query(
    `update messages set campaign_id = -1, brand_id = -1, tracking = null, from_address = null where id = $1`,
    [messageIds[0]],
  );
  const request = { accountId: account.accountId, owner: OWNER, messages: 3 };
  const claims = [...(await claimRecipients(database, request))];
  const block = claims[0]?.block;
  if (!block) throw new Error('no claims');
  const all = messageIds.map((messageId) => ({ ...claims[0], messageId }) as (typeof claims)[number]);
  const batch = { owner: OWNER, seq: 1, provider: 'smtp', keyring: testKeyring, claims: all };
  const common = {
    verdict: 'send',
    brandId: account.brandId,
    from: `sandbox-${account.accountId}@mail.test`,
    replyTo: 'r@example.com',
    tracking,
    createdAt: new Date('2026-01-02T03:04:00Z'),
  };
  expect(await intendBlock(database.pool, batch, block)).toMatchObject([{ verdict: 'gone' }, common, common]);
});
