// A cancellation cancels many small blocks in one page, up to the page's number of recipients.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { cancelCampaignMessages } from '../../../../src/delivery/ledger/blocks/campaign-blocks.ts';
import { type Database, openDatabase } from '../../../../src/platform/db/database.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { blocksOf, writeCampaign } from '../../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertAccount } from '../../../support/queued.ts';

let test: TestDatabase;
let database: Database;

beforeAll(async () => {
  test = await createTestDatabase();
  database = openDatabase({ url: test.url, poolMax: 2, keyedPlans: true });
});
afterAll(async () => {
  await database.close();
  await test.drop();
});

it('cancels enough small blocks per page to fill it with recipients', async () => {
  const account = await insertAccount(database);
  const { campaignId } = await writeCampaign(database, account, {
    recipients: 30,
    blockSize: 2,
    prefix: 'small-',
  });
  await database.pool.query(`update campaigns set status = 'completed', outcome = 'canceled' where id = $1`, [
    campaignId,
  ]);
  const page = () => inTransaction(database.pool, (trx) => cancelCampaignMessages(trx, campaignId, 20));
  expect(await page()).toEqual({ canceled: 20, done: false });
  expect((await blocksOf(database, campaignId)).filter((block) => block.closed)).toHaveLength(10);
  expect(await page()).toEqual({ canceled: 10, done: false });
  expect(await page()).toEqual({ canceled: 0, done: true });
});
