// The workflow of a campaign whose blocks are held wakes when they are released, tests its variants, and completes.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { releaseDomainPage } from '../../src/delivery/ledger/release/release-domain.ts';
import { pauseSending, resumeSending, setAccount } from '../../src/features/accounts/service.ts';
import { readCampaign } from '../../src/features/campaigns/run/page.ts';
import { installRuntime } from '../../src/platform/temporal/worker.ts';
import { writeCampaign } from '../support/campaigns.ts';
import { type CampaignStage, startCampaignStage } from '../support/campaign-stage.ts';
import { insertVerifiedDomain } from '../support/domains.ts';
import { eventually } from '../support/eventually.ts';
import { insertAccount, type QueuedAccount } from '../support/queued.ts';

let stage: CampaignStage;
let account: QueuedAccount;
let domainId: number;
let campaigns = 0;

beforeAll(async () => {
  installRuntime(pino({ level: 'silent' }));
  stage = await startCampaignStage();
}, 120_000);
afterAll(() => stage.stop());
beforeEach(async () => {
  account = await insertAccount(stage.test.database);
  domainId = await insertVerifiedDomain(stage.test.database, account, `held${++campaigns}.test`);
});

const query = (text: string, values: unknown[]) => stage.test.database.pool.query(text, values);

/** Writes a campaign that tests two variants with half of its 40 recipients. */
async function writeTest(): Promise<number> {
  const size = { recipients: 40, blockSize: 10, prefix: `held${campaigns}-` };
  const { campaignId, versionId } = await writeCampaign(stage.test.database, account, { ...size, domainId });
  const variant = (subject: string) => ({ subject, weight: 25 });
  const ab = { variants: [variant('A'), variant('B')], by: 'opens', after_seconds: 1 };
  await query(
    `update campaigns set options = $2, version_ids = $3, sending_at = now(), engine_expected_by = now() where id = $1`,
    [campaignId, JSON.stringify({ ab }), [versionId, versionId]],
  );
  await query(
    `update campaign_blocks set variant = least(n, 1), due_at = case when n > 1 then 'infinity' else due_at end
     where campaign_id = $1`,
    [campaignId],
  );
  await query(
    `update messages m set variant = case when b.n < 2 then b.n end
     from campaign_blocks b where b.campaign_id = $1 and m.campaign_id = $1 and m.id between b.first_id and b.last_id`,
    [campaignId],
  );
  return campaignId;
}

const setDomain = (status: 'failed' | 'verified') =>
  query('update domains set status = $2, lost_at = now() where id = $1', [domainId, status]);

describe('a campaign held by', () => {
  it.each<[string, { hold: () => Promise<unknown>; release: () => Promise<unknown> }]>([
    [
      'domain_unverified',
      {
        hold: () => setDomain('failed'),
        async release() {
          await setDomain('verified');
          await releaseDomainPage(stage.test.database.pool, { accountId: account.accountId, domainId });
        },
      },
    ],
    [
      'account_paused',
      {
        hold: () => pauseSending(stage.test.database.pool, account.accountId, 'too many complaints'),
        release: () => resumeSending(stage.test.database.pool, account.accountId),
      },
    ],
    [
      'allowance',
      {
        hold: () => query('update accounts set allowance_per_day = 0 where id = $1', [account.accountId]),
        release: () => setAccount(stage.test.database.pool, account.accountId, { allowancePerDay: 1_000 }),
      },
    ],
  ])('%s continues after its release, to its winner and its end', async (reason, { hold, release }) => {
    await hold();
    const campaignId = await writeTest();
    await stage.start(campaignId, account);
    await stage.asleep(campaignId, reason);
    const before = stage.server.received.length;
    await release();
    const row = await eventually(async () => {
      const found = await readCampaign(stage.test.database.pool, campaignId);
      expect(found).toMatchObject({ status: 'completed', outcome: 'completed' });
      return found;
    });
    expect(row?.winner).toBe(0);
    expect(stage.server.received.length - before).toBe(40);
  });
});
