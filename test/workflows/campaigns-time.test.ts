// The campaign workflow sends at the right times, obeys operators, and waits for approval, allowance and funds.
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import pino from 'pino';
import { createCampaignActivities } from '../../activities/campaigns.ts';
import { loadConfig } from '../../src/config.ts';
import { campaignCounts } from '../../src/features/campaigns/campaign-counts.ts';
import { claimBlock } from '../../src/delivery/ledger/blocks/claim-blocks.ts';
import type { CampaignRow } from '../../src/features/campaigns/model.ts';
import { readCampaign } from '../../src/features/campaigns/run/page.ts';
import { cancelCampaign } from '../../src/features/campaigns/transitions.ts';
import { campaignStart } from '../../src/features/campaigns/workflow.ts';
import { inTransaction } from '../../src/platform/db/queryable.ts';
import { installRuntime } from '../../src/platform/temporal/worker.ts';
import type { CampaignState } from '../../workflows/campaigns/contract.ts';
import { TEST_SECRET } from '../support/api.ts';
import {
  type CampaignSpec,
  evaluationsIn,
  insertSentCampaign,
  recipientsOf,
  sendDueBlocks,
} from '../support/campaign-runs.ts';
import { blocksOf } from '../support/campaigns.ts';
import { insertContacts } from '../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { sharedWorkflowBundle } from '../support/engine.ts';
import { testEvents } from '../support/events.ts';
import { credit, insertPayer, monthsOf, setPrice } from '../support/money.ts';
import { insertAccount, insertSender, type QueuedAccount } from '../support/queued.ts';
import { TEST_LIMITS } from '../support/sending.ts';
import { testsThatNeed } from '../support/tests-that-need.ts';
import { createTimeSkippingEnvironment } from '../support/time-skipping.ts';
import { until } from './until.ts';

const { afterAll, beforeAll, beforeEach, describe } = testsThatNeed('time-skipping server');

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let env: TestWorkflowEnvironment;
let db: TestDatabase;
let account: QueuedAccount;
let workers: Worker[];
let running: Promise<void>[];
let sender: AbortController;
/** Whether the sender may send, at the engine's time. */
let maySend: (at: Date) => boolean;

const now = async () => new Date(await env.currentTimeMs());
const later = async (ms: number) => new Date((await env.currentTimeMs()) + ms);
const query = (text: string, values: unknown[] = []) =>
  db.database.pool.query<Record<string, unknown>>(text, values);

async function send(id: number): Promise<void> {
  while (!sender.signal.aborted) {
    const at = await now();
    if (maySend(at)) await sendDueBlocks(db.database.pool, id, at);
    await delay(20);
  }
}

/** Starts the workflow of a campaign, and a sender that sends what is due at the engine's time. */
async function begin(
  spec: CampaignSpec = {},
): Promise<{ id: number; handle: WorkflowHandle; sending: Promise<void> }> {
  const asOf = await now();
  const audience = { filters: [], segmentId: 1 };
  const id = await insertSentCampaign(db.database.pool, account, { audience, asOf, ...spec });
  const start = campaignStart({ id, ...account, name: 'Spring sale' });
  const handle = await env.client.workflow.start(start.workflowType, {
    workflowId: start.workflowId,
    taskQueue: 'orchestration',
    args: start.input ?? [],
  });
  return { id, handle, sending: send(id) };
}

const rowOf = async (id: number) => (await readCampaign(db.database.pool, id)) as CampaignRow;
const stateOf = (handle: WorkflowHandle) => handle.query<CampaignState>('state');

async function sentAt(id: number): Promise<string[]> {
  const { rows } = await query('select distinct sent_at from messages where campaign_id = $1 order by 1', [
    id,
  ]);
  return rows.map((row) => (row.sent_at as Date).toISOString().slice(0, 16));
}

beforeAll(async () => {
  installRuntime(pino({ level: 'silent' }));
  [env, db] = await Promise.all([createTimeSkippingEnvironment(), createTestDatabase({ poolMax: 10 })]);
  const activities = createCampaignActivities({
    config: loadConfig({ APP_SECRET: TEST_SECRET, DATABASE_URL: db.url, MAIL_DOMAIN: 'mail.test' }),
    database: db.database,
    evaluations: evaluationsIn(db.database.pool),
    waker: { wake: () => undefined },
    events: testEvents,
    log: pino({ level: 'silent' }),
    stopping: new AbortController().signal,
  });
  const options = { connection: env.nativeConnection, activities };
  const workflowBundle = await sharedWorkflowBundle();
  workers = [
    await Worker.create({ ...options, taskQueue: 'orchestration', workflowBundle }),
    await Worker.create({ ...options, taskQueue: 'bulk' }),
  ];
  running = workers.map((worker) => worker.run());
}, 120_000);
beforeEach(async () => {
  account = await insertAccount(db.database);
  await insertContacts(db.database.pool, account, 10);
  sender = new AbortController();
  maySend = () => true;
});
afterAll(async () => {
  for (const worker of workers) worker.shutdown();
  await Promise.all(running);
  await env.teardown();
  await db.drop();
});

let senders = 70;

/** Inserts the process of a sender that claims blocks. @returns its id */
async function registerSender(): Promise<number> {
  const id = ++senders;
  await insertSender(db.database, id);
  return id;
}

/** Waits for the end of the workflow and of the sender. */
async function finish({
  handle,
  sending,
}: {
  handle: WorkflowHandle;
  sending: Promise<void>;
}): Promise<void> {
  const { counts } = (await handle.result()) as CampaignState;
  expect(counts.remaining).toBe(0);
  sender.abort();
  await sending;
}

describe('the workflow of a campaign', () => {
  it('waits for its time, sends, and completes', async () => {
    const scheduledAt = await later(3 * DAY_MS);
    const campaign = await begin({ scheduledAt });
    await finish(campaign);
    const row = await rowOf(campaign.id);
    expect(row).toMatchObject({
      status: 'completed',
      phase: 'done',
      outcome: 'completed',
      engine_expected_by: null,
    });
    expect(row.snapshot_at?.getTime()).toBeGreaterThanOrEqual(scheduledAt.getTime());
    expect(row.snapshot_at?.getTime()).toBeLessThan(scheduledAt.getTime() + HOUR_MS);
    expect((await campaignCounts(db.database.pool, [campaign.id])).get(campaign.id)).toMatchObject({
      audience: 10,
      sent: 10,
      remaining: 0,
    });
  }, 180_000);

  it('follows a schedule that moves later and then earlier', async () => {
    const campaign = await begin({ scheduledAt: await later(2 * DAY_MS) });
    await env.sleep(HOUR_MS);
    await query('update campaigns set begin_at = $2 where id = $1', [campaign.id, await later(20 * DAY_MS)]);
    await campaign.handle.signal('wake');
    await env.sleep(3 * DAY_MS);
    expect(await rowOf(campaign.id)).toMatchObject({ phase: 'waiting' });
    const soon = await later(HOUR_MS);
    await query('update campaigns set begin_at = $2 where id = $1', [campaign.id, soon]);
    await campaign.handle.signal('wake');
    await finish(campaign);
    const { snapshot_at: snapshotAt } = await rowOf(campaign.id);
    expect(snapshotAt?.getTime()).toBeGreaterThanOrEqual(soon.getTime());
    expect(snapshotAt?.getTime()).toBeLessThan(soon.getTime() + HOUR_MS);
  }, 180_000);

  it('writes no recipients if it is canceled before its time', async () => {
    const campaign = await begin({ scheduledAt: await later(2 * DAY_MS) });
    await env.sleep(HOUR_MS);
    await inTransaction(db.database.pool, (trx) => cancelCampaign(trx, { id: campaign.id }));
    await campaign.handle.signal('wake');
    await finish(campaign);
    expect(await rowOf(campaign.id)).toMatchObject({ status: 'draft', phase: 'draft' });
    expect(await recipientsOf(db.database.pool, campaign.id)).toEqual([]);
  }, 180_000);

  it('waits for an approval', async () => {
    const campaign = await begin({ approval: 'pending' });
    await env.sleep(2 * DAY_MS);
    expect(await stateOf(campaign.handle)).toMatchObject({ phase: 'waiting', waitingFor: 'approval' });
    await query(`update campaigns set approval_state = 'approved' where id = $1`, [campaign.id]);
    await campaign.handle.signal('wake');
    await finish(campaign);
    expect(await rowOf(campaign.id)).toMatchObject({ outcome: 'completed' });
  }, 180_000);

  it('sends at the local time of its recipients, across a change of the day', async () => {
    const day = Math.ceil((await env.currentTimeMs()) / DAY_MS) * DAY_MS + 2 * DAY_MS;
    const zones = ['Pacific/Auckland', 'Asia/Tokyo', 'UTC', 'America/Phoenix', 'Pacific/Honolulu'];
    await query(
      `update contacts c set data = jsonb_build_object('timezone', ($2::text[])[1 + n.place % 5])
       from (select id, row_number() over (order by id) - 1 as place from contacts where brand_id = $1) n
       where n.id = c.id`,
      [account.brandId, zones],
    );
    const scheduledAt = new Date(day + 8 * HOUR_MS);
    const campaign = await begin({
      scheduledAt,
      beginAt: new Date(scheduledAt.getTime() - 14 * HOUR_MS),
      options: { send_at_local_time: true },
    });
    await finish(campaign);
    const hours = (await sentAt(campaign.id)).map((at) => (Date.parse(`${at}:00Z`) - day) / HOUR_MS);
    // Auckland is 12 or 13 hours ahead of UTC, Honolulu 10 behind.
    expect(hours.map(Math.floor).slice(1)).toEqual([-1, 8, 15, 18]);
    expect([-5, -4]).toContain(Math.floor(hours[0] ?? 0));
    expect(await rowOf(campaign.id)).toMatchObject({ outcome: 'completed' });
  }, 180_000);

  it('sends the remaining recipients of an A/B test the variant opened most, or the first in a tie', async () => {
    const ab = {
      variants: [
        { subject: 'A', weight: 20 },
        { subject: 'B', weight: 20 },
      ],
      by: 'opens' as const,
      after_seconds: 4 * 3_600,
    };
    for (const [opened, winner] of [
      [1, 1],
      [null, 0],
    ] as const) {
      sender = new AbortController();
      const campaign = await begin({ options: { ab }, versionIds: [11, 12] });
      await until(async () => {
        const { rows } = await query(
          'select count(*)::int as n from messages where campaign_id = $1 and sent_at is not null',
          [campaign.id],
        );
        return rows[0]?.n === 4;
      });
      await query('update messages set opened_at = now() where campaign_id = $1 and variant = $2', [
        campaign.id,
        opened,
      ]);
      await finish(campaign);
      const recipients = await recipientsOf(db.database.pool, campaign.id);
      expect(
        recipients.filter(({ variant, version }) => variant === winner && version === 11 + winner),
      ).toHaveLength(8);
      const [first, last] = await sentAt(campaign.id);
      expect(Date.parse(`${last}:00Z`) - Date.parse(`${first}:00Z`)).toBeGreaterThanOrEqual(
        4 * HOUR_MS - 60_000,
      );
    }
  }, 180_000);

  it('waits for the rolling allowance and continues by itself, with a short history', async () => {
    await query('update accounts set allowance_per_day = 5 where id = $1', [account.accountId]);
    const returns = await later(4 * HOUR_MS);
    await query(
      `insert into allowance_buckets (account_id, bucket, used)
       values ($1, $2::timestamptz - interval '24 hours 10 minutes', 5)`,
      [account.accountId, returns],
    );
    maySend = (at) => at >= returns;
    const campaign = await begin();
    await until(async () => (await rowOf(campaign.id)).phase === 'sending');
    await query(`update campaign_blocks set hold_reason = 'allowance', due_at = $2 where campaign_id = $1`, [
      campaign.id,
      returns,
    ]);
    await env.sleep(2 * HOUR_MS);
    expect(await stateOf(campaign.handle)).toMatchObject({ phase: 'sending', waitingFor: 'allowance' });
    await finish(campaign);
    expect(await rowOf(campaign.id)).toMatchObject({ outcome: 'completed' });
    const { historyLength } = await campaign.handle.describe();
    // 2,000 a day.
    expect(historyLength).toBeLessThan(350);
  }, 180_000);

  it('looks every ten minutes while its blocks are held, with under 2,000 events a day', async () => {
    maySend = () => false;
    const campaign = await begin();
    await until(async () => (await rowOf(campaign.id)).phase === 'sending');
    await query(
      `update campaign_blocks set hold_reason = 'domain_unverified', due_at = $2 where campaign_id = $1`,
      [campaign.id, await later(24 * HOUR_MS)],
    );
    await until(async () => (await stateOf(campaign.handle)).waitingFor === 'domain_unverified');
    const { historyLength: before } = await campaign.handle.describe();
    await env.sleep(4 * HOUR_MS);
    const { historyLength: after } = await campaign.handle.describe();
    expect(after - before).toBeGreaterThan(24 * 8);
    expect(after - before).toBeLessThan(2_000 / 6);
    await campaign.handle.signal('cancel');
    await finish(campaign);
  }, 180_000);

  it('pauses, resumes and cancels at the signals of an operator', async () => {
    maySend = () => false;
    const campaign = await begin();
    await until(async () => (await rowOf(campaign.id)).phase === 'sending');
    await campaign.handle.signal('pause');
    await until(async () => (await rowOf(campaign.id)).status === 'paused');
    await campaign.handle.signal('resume');
    await until(async () => (await rowOf(campaign.id)).status === 'active');
    await campaign.handle.signal('cancel');
    await finish(campaign);
    expect(await rowOf(campaign.id)).toMatchObject({
      status: 'completed',
      outcome: 'canceled',
      phase: 'done',
    });
    expect((await campaignCounts(db.database.pool, [campaign.id])).get(campaign.id)).toMatchObject({
      canceled: 10,
    });
  }, 180_000);

  it.each<[string, { funds: number; capCents: number | null }, string, string]>([
    ['the funds of its account end', { funds: 4_000, capCents: null }, 'wallet', 'insufficient_funds'],
    [
      'the spend cap of its account is reached',
      { funds: 20_000, capCents: 4 },
      'spend_cap',
      'spend_cap_reached',
    ],
  ])(
    'pauses when %s, and continues after a resume',
    async (_what, money, held, reason) => {
      const { pool } = db.database;
      await setPrice(db.database, 1_000);
      account = await insertPayer(db.database, money);
      await insertContacts(pool, account, 10);
      const owner = await registerSender();
      maySend = () => false;
      const campaign = await begin();
      const { id } = campaign;
      await until(async () => (await rowOf(id)).phase === 'sending');
      const claim = async () => {
        const blocks = { channel: 'email', accountId: account.accountId, providerId: 0 } as const;
        return (await claimBlock(pool, { ...blocks, owner, messages: 100 }, TEST_LIMITS)).claims.length;
      };
      // The engine's time is ahead of the database's.
      await query('update campaign_blocks set due_at = now() where campaign_id = $1', [id]);
      expect(await claim()).toBe(4);
      expect(await claim()).toBe(0);
      await until(async () => (await rowOf(id)).status === 'paused');
      expect(await rowOf(id)).toMatchObject({ stop: { reason, rate: null, threshold: null } });
      const reasons = async () => (await blocksOf(db.database, id)).map(({ hold_reason }) => hold_reason);
      expect(await reasons()).toContain(held);
      await credit(db.database, account, 20_000);
      await query('update accounts set spend_cap_monthly_cents = null where id = $1', [account.accountId]);
      await campaign.handle.signal('resume');
      await until(async () => (await rowOf(id)).status === 'active');
      expect(await rowOf(id)).toMatchObject({ stop: null });
      expect(await reasons()).not.toContain(held);
      expect(await claim()).toBe(6);
      expect(await monthsOf(db.database, account)).toMatchObject({ emails: 10, spent: 10_000 });
      maySend = () => true;
      await finish(campaign);
      expect(await rowOf(id)).toMatchObject({ outcome: 'completed', stop: null });
    },
    180_000,
  );
});
