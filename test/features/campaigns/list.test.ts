// The campaign list takes a fixed number of database queries, and is read in slices of known size.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { readCampaigns } from '../../../src/features/campaigns/campaign-list.ts';
import { presentCampaign } from '../../../src/features/campaigns/presenter.ts';
import { findListed, presentPage } from '../../../src/features/campaigns/service.ts';
import { pageOf } from '../../../src/platform/db/paging.ts';
import type { Queryable } from '../../../src/platform/db/queryable.ts';
import { writeCampaign } from '../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { insertAccount, type QueuedAccount } from '../../support/queued.ts';
import { TEST_LIMITS } from '../../support/sending.ts';

let db: TestDatabase;
let account: QueuedAccount;
let written = 0;

beforeAll(async () => {
  db = await createTestDatabase();
}, 60_000);
beforeEach(async () => {
  account = await insertAccount(db.database);
});
afterAll(() => db.drop());

const query = (text: string, values: unknown[] = []) => db.database.pool.query(text, values);

/** Writes an active campaign with a template of its own, then applies `change` to its row and its blocks. */
async function write(change: { campaign?: string; blocks?: string } = {}): Promise<number> {
  written += 1;
  const options = { recipients: 3, blockSize: 3, prefix: `list${written}-` };
  const { campaignId } = await writeCampaign(db.database, account, options);
  await query(
    `update campaigns c set template_id = (select template_id from template_versions v where v.id = c.version_ids[1])
     where id = $1`,
    [campaignId],
  );
  await query(
    `update campaign_blocks set ${change.blocks ?? `due_at = now() - interval '1 hour'`} where campaign_id = $1`,
    [campaignId],
  );
  if (change.campaign) await query(`update campaigns set ${change.campaign} where id = $1`, [campaignId]);
  return campaignId;
}

/** Campaigns that wait for everything that a campaign can wait for. */
async function writeAll(): Promise<void> {
  await write();
  await write({ blocks: `due_at = now() + interval '1 hour'` });
  await write({
    campaign: `options = '{"ab": {"variants": [{"subject": "A", "weight": 10}, {"subject": "B", "weight": 10}],
      "by": "opens", "after_seconds": 600}}', sending_at = now()`,
    blocks: `due_at = 'infinity'`,
  });
  await write({ campaign: `approval_state = 'pending'` });
  await write({ campaign: `phase = 'waiting', begin_at = now() + interval '1 day'` });
  await write({ campaign: `status = 'paused'` });
}

async function listed(scope: QueuedAccount, summary = false) {
  let statements = 0;
  const counting = {
    query: (...args: Parameters<Queryable['query']>) => {
      statements += 1;
      return db.database.pool.query(...args);
    },
  };
  const { items } = await findListed(counting, scope, { summary }, pageOf({}));
  const ids = items.map(({ id }) => id);
  const campaigns = await presentPage(counting, { limits: TEST_LIMITS }, scope, ids, summary);
  return { items, campaigns, statements };
}

describe('the list of campaigns', () => {
  it('takes a fixed number of queries, however many campaigns there are', async () => {
    await writeAll();
    const few = await listed(account);
    await writeAll();
    await writeAll();
    const many = await listed(account);
    expect(many.campaigns).toHaveLength(18);
    expect(many.statements).toBe(few.statements);
    expect(many.statements).toBeLessThanOrEqual(11);
  });

  it('shows the same as each campaign by itself, without designs', async () => {
    await writeAll();
    const { items, campaigns } = await listed(account);
    const rows = await readCampaigns(
      db.database.pool,
      account,
      items.map(({ id }) => id),
    );
    expect(campaigns.map(({ data }) => data.progress.waiting_for?.reason ?? null)).toEqual([
      ...[null, 'schedule', 'approval', 'ab_winner', 'throttle', 'provider'],
    ]);
    for (const [n, row] of rows.entries()) {
      const { template, templates, ...facts } = await presentCampaign(db.database.pool, row, TEST_LIMITS);
      const bare = (shown: typeof template) => ({ ...shown, design: null });
      expect(campaigns[n]).toEqual({ ...facts, template: bare(template), templates: templates.map(bare) });
    }
  });

  it('estimates the sizes of its campaigns before it reads them', async () => {
    await writeAll();
    await query(`update templates set body = repeat('x', 500000) where brand_id = $1`, [account.brandId]);
    const { items, campaigns } = await listed(account);
    for (const [n, campaign] of campaigns.entries()) {
      const bytes = Buffer.byteLength(JSON.stringify(campaign));
      expect((items[n]?.bytes ?? 0) / bytes).toBeGreaterThan(0.95);
      expect((items[n]?.bytes ?? 0) / bytes).toBeLessThan(1.5);
    }
  });

  it('leaves bodies out of a summary', async () => {
    await writeAll();
    await query(`update templates set body = repeat('x', 500000) where brand_id = $1`, [account.brandId]);
    const { campaigns } = await listed(account);
    const summary = await listed(account, true);
    const bodiless = ({ body: _, ...others }: (typeof campaigns)[number]['template']) => others;
    expect(summary.campaigns).toEqual(
      campaigns.map(({ template, templates, ...facts }) => ({
        ...facts,
        template: bodiless(template),
        templates: templates.map(bodiless),
      })),
    );
    for (const { bytes } of summary.items) expect(bytes).toBeLessThan(10_000);
  });
});
