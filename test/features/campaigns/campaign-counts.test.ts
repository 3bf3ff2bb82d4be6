// The counts of a campaign outlive its messages, are refreshed after its end, and are listed without reading messages.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { campaignCounts } from '../../../src/features/campaigns/campaign-counts.ts';
import { recountBlocks } from '../../../src/delivery/ledger/blocks/tallies.ts';
import { messageRanges } from '../../../src/delivery/ledger/upkeep/message-ranges.ts';
import { presentCampaigns } from '../../../src/features/campaigns/presenter.ts';
import { readCampaign } from '../../../src/features/campaigns/run/page.ts';
import type { CampaignRow } from '../../../src/features/campaigns/model.ts';
import { upkeep } from '../../../src/features/upkeep.ts';
import { RANGE_IDS } from '../../../src/platform/db/id-ranges.ts';
import { keepPartitionsOf } from '../../../src/platform/db/partitions.ts';
import { inTransaction, onClient } from '../../../src/platform/db/queryable.ts';
import { wrongTallies, writeCampaign, type WrittenCampaign } from '../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { runTask } from '../../support/housekeeping.ts';
import { insertAccount } from '../../support/queued.ts';
import { TEST_LIMITS } from '../../support/sending.ts';

const YEARS_LATER = new Date(Date.now() + 1_000 * 86_400_000);
/** Ranges of the first partition of messages. */
const RANGES = 8;

let test: TestDatabase;
let campaign: WrittenCampaign;

beforeEach(async () => {
  test = await createTestDatabase();
  campaign = await writeCampaign(test.database, await insertAccount(test.database), {
    ...{ recipients: 40, blockSize: 20 },
  });
  await setStatus(1, 40, 'sent');
  await query(
    `update campaign_blocks set closed_at = now(), claim_epoch = 1, recount = true where campaign_id = $1`,
  );
  while ((await recountBlocks(test.database.pool, campaign.campaignId)) > 0);
  await query(
    `update campaigns set status = 'completed', phase = 'done', outcome = 'completed' where id = $1`,
  );
});
afterEach(() => test.drop());

const query = (text: string, values: unknown[] = []) =>
  test.database.pool.query(text, [campaign.campaignId, ...values]);

const setStatus = (from: number, to: number, status: string) =>
  query(
    `update messages set status = $2, sent_at = case when $2 = 'unknown' then null else coalesce(sent_at, now()) end
     where campaign_id = $1 and id = any($3)`,
    [status, campaign.messageIds.slice(from - 1, to)],
  );

/** Changes recipients of the first block, as late facts do. */
async function changeLate(count: number, status: string): Promise<void> {
  await setStatus(1, count, status);
  await query('update campaign_blocks set recount = true where campaign_id = $1 and n = 0');
}

const counts = async () =>
  (await campaignCounts(test.database.pool, [campaign.campaignId])).get(campaign.campaignId);

async function listed() {
  const row = (await readCampaign(test.database.pool, campaign.campaignId)) as CampaignRow;
  return onClient(test.database.pool, async (client) => {
    await client.query(`set lock_timeout = '1s'`);
    const [facts] = await presentCampaigns(client, [row], TEST_LIMITS);
    return facts?.data.progress;
  });
}

function housekeep(name: string): Promise<number> {
  const task = upkeep.tasks.find((each) => each.name === name);
  if (!task) throw new Error(`no task ${name}`);
  return runTask(test.database, task, new Date());
}

/** Closes the ranges that have messages, without waiting for weeks. */
async function closeRanges(): Promise<void> {
  const { pool } = test.database;
  await pool.query(
    `insert into message_ranges (n, closed_at) select n, now() from generate_series(1, $1) n on conflict do nothing`,
    [RANGES],
  );
  await pool.query('update message_ranges set closed_at = case when n < $1 then now() end', [RANGES]);
  await pool.query(`select setval('messages_id_seq', $1, false)`, [RANGES * RANGE_IDS]);
  await keepPartitionsOf(pool, upkeep.partitions);
}

const dropOld = () => runTask(test.database, messageRanges, YEARS_LATER);
const hasMessages = async () =>
  (await query('select 1 from messages where campaign_id = $1 limit 1')).rowCount;

describe('late facts about a finished campaign', () => {
  it('are counted by housekeeping', async () => {
    await changeLate(3, 'unknown');
    expect(await counts()).toMatchObject({ sent: 37, unknown: 3 });
    expect(await listed()).toMatchObject({ sent_count: 40, unknown_count: 0 });
    expect(await housekeep('campaign_counts')).toBe(1);
    expect(await listed()).toMatchObject({ sent_count: 37, unknown_count: 3 });
    expect(await wrongTallies(test.database, campaign.campaignId)).toEqual([]);
    expect(await housekeep('campaign_counts')).toBe(0);
  });

  it('are counted before the messages are dropped', async () => {
    await changeLate(3, 'unknown');
    await closeRanges();
    await dropOld();
    expect(await hasMessages()).toBe(0);
    expect(await counts()).toMatchObject({ audience: 40, sent: 37, unknown: 3, remaining: 0 });
  });

  it('drop the blocks together with the messages, and keep the counts', async () => {
    expect(await housekeep('campaign_blocks')).toBe(0);
    await closeRanges();
    await dropOld();
    const before = [await counts(), await listed()];
    expect(await housekeep('campaign_blocks')).toBe(2);
    expect([await counts(), await listed()]).toEqual(before);
    expect(before[0]).toMatchObject({ audience: 40, sent: 40, remaining: 0 });
  });

  it('keep the messages while they cannot be counted', async () => {
    await changeLate(3, 'unknown');
    await closeRanges();
    await inTransaction(test.database.pool, async (trx) => {
      await trx.query('select 1 from campaign_blocks where campaign_id = $1 and n = 0 for update', [
        campaign.campaignId,
      ]);
      await dropOld();
    });
    expect(await hasMessages()).toBe(1);
  });

  it('change no count after the messages were dropped', async () => {
    await closeRanges();
    await dropOld();
    await query('update campaign_blocks set recount = true where campaign_id = $1');
    expect(await counts()).toMatchObject({ sent: 40, remaining: 0 });
    expect(await housekeep('campaign_counts')).toBe(2);
    expect(await counts()).toMatchObject({ sent: 40, remaining: 0 });
  });
});

it('lists a campaign without reading a message', async () => {
  await changeLate(3, 'unknown');
  const progress = await inTransaction(test.database.pool, async (trx) => {
    await trx.query('lock table messages in access exclusive mode');
    return listed();
  });
  expect(progress).toMatchObject({ audience_count: 40, sent_count: 40, remaining_count: 0 });
});
