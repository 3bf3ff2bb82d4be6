// Housekeeping removes only campaign data that is due, and lost campaign workflows start again.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { loadConfig } from '../../../src/config.ts';
import { campaignSource } from '../../../src/features/campaigns/workflow.ts';
import { upkeep } from '../../../src/features/upkeep.ts';
import { reconcile, type ReconcilerDependencies } from '../../../src/platform/outbox/reconciler.ts';
import type { HousekeepingDependencies } from '../../../src/platform/housekeeping/task.ts';
import { type Engine, openEngine } from '../../../src/platform/temporal/connection.ts';
import { insertList, insertSentCampaign } from '../../support/campaign-runs.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { useEngine } from '../../support/engine.ts';
import { insertAccount, type QueuedAccount } from '../../support/queued.ts';

const DAY_MS = 86_400_000;
const log = pino({ level: 'silent' });

let db: TestDatabase;
let account: QueuedAccount;

beforeAll(async () => {
  db = await createTestDatabase();
}, 60_000);
beforeEach(async () => {
  account = await insertAccount(db.database);
});
afterAll(() => db.drop());

const query = async <Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> =>
  (await db.database.pool.query<Row>(text, values)).rows;

const campaignsLeft = async () =>
  (
    await query<{ id: number }>('select id from campaigns where brand_id = $1 order by id', [account.brandId])
  ).map(({ id }) => id);

describe('housekeeping of campaigns', () => {
  const asOf = new Date('2026-03-10T12:00:00Z');
  const before = (ms: number) => new Date(asOf.getTime() - ms);

  function run(name: string): Promise<number> {
    const deps: HousekeepingDependencies = { config: loadConfig({}), database: db.database, log, ...upkeep };
    const task = upkeep.tasks.find((each) => each.name === name);
    if (!task) throw new Error(`no task ${name}`);
    return task.run(deps, asOf, () => undefined);
  }

  it('removes a deleted draft after a day, and no other campaign', async () => {
    const insertDraft = async (removedAt: Date | null) => {
      const [row] = await query<{ id: number }>(
        `insert into campaigns (account_id, brand_id, name, removed_at, created_at)
         values ($1, $2, 'Draft', $3, $4) returning id`,
        [account.accountId, account.brandId, removedAt, before(1_000 * DAY_MS)],
      );
      return row?.id ?? 0;
    };
    await insertDraft(before(DAY_MS + 1_000));
    const young = await insertDraft(before(DAY_MS - 1_000));
    const kept = await insertDraft(null);
    const sent = await insertSentCampaign(db.database.pool, account);
    expect(await run('deleted_campaigns')).toBe(1);
    expect(await campaignsLeft()).toEqual([young, kept, sent]);
    expect(await run('deleted_campaigns')).toBe(0);
  });

  it('forgets removed recipients once no page of their campaign reads them', async () => {
    const hash = (id: unknown) =>
      db.database.pool.query(
        `insert into campaign_removed_recipients select $1, removed_recipient_hash($1, 'a@example.com')`,
        [id],
      );
    const { rows } = await db.database.pool.query<{ id: number }>(
      `insert into campaigns (account_id, brand_id, name, status, phase) values
         (1, 1, 'A', 'paused', 'snapshot'), (1, 1, 'B', 'active', 'sending') returning id`,
    );
    for (const { id } of rows) await hash(id);
    await hash(0);
    expect(await run('campaign_removed_recipients')).toBe(2);
    expect(await run('campaign_removed_recipients')).toBe(0);
  });

  it('removes list fills 90 days after their end, and none that is running', async () => {
    const campaignId = await insertSentCampaign(db.database.pool, account);
    const listId = await insertList(db.database.pool, account);
    const insertFill = async (finishedAt: Date | null) => {
      const [row] = await query<{ id: number }>(
        `insert into campaign_list_fills (account_id, brand_id, campaign_id, list_id, filters, up_to, created_at, finished_at)
         values ($1, $2, $3, $4, '{}', 0, $5, $6) returning id`,
        [account.accountId, account.brandId, campaignId, listId, before(200 * DAY_MS), finishedAt],
      );
      return row?.id ?? 0;
    };
    await insertFill(before(90 * DAY_MS + 1_000));
    const young = await insertFill(before(90 * DAY_MS - 1_000));
    const running = await insertFill(null);
    expect(await run('campaign_list_fills')).toBe(1);
    const left = await query<{ id: number }>(
      'select id from campaign_list_fills where campaign_id = $1 order by id',
      [campaignId],
    );
    expect(left.map(({ id }) => id)).toEqual([young, running]);
  });
});

describe('the workflow of a campaign', () => {
  let engine: Engine;
  let deps: ReconcilerDependencies;

  beforeAll(async () => {
    const test = await useEngine();
    engine = openEngine(loadConfig({ TEMPORAL_ADDRESS: test.address, TEMPORAL_NAMESPACE: test.namespace }));
    deps = {
      database: db.database,
      client: engine.client,
      namespaceId: () => engine.namespaceId(),
      sources: [campaignSource],
      prepare: async () => undefined,
      log,
    };
  }, 120_000);
  afterAll(() => engine.close());

  const handleOf = (id: number) => engine.client.workflow.getHandle(`campaign/${id}`);

  it('is started again by the reconciler after the engine has lost it', async () => {
    // Ids of other test files' campaigns are lower: all use the namespace of this file's engine.
    const id = await insertSentCampaign(db.database.pool, account, { phase: 'snapshot' });
    const overdue = () =>
      query(`update campaigns set engine_expected_by = now() - interval '1 second' where id = $1`, [id]);
    await overdue();
    await reconcile(deps);
    const first = await handleOf(id).describe();
    expect([first.type, first.status.name]).toEqual(['campaign', 'RUNNING']);
    await handleOf(id).terminate('lost');
    await overdue();
    await reconcile(deps);
    const again = await handleOf(id).describe();
    expect(again.status.name).toBe('RUNNING');
    expect(again.runId).not.toBe(first.runId);
    const [row] = await query<{ postponed: boolean }>(
      'select engine_expected_by > now() as postponed from campaigns where id = $1',
      [id],
    );
    expect(row).toEqual({ postponed: true });
  });

  it('is started at once if the engine is new, even if its row is not overdue', async () => {
    await reconcile(deps);
    const id = await insertSentCampaign(db.database.pool, account, { phase: 'snapshot' });
    const done = await insertSentCampaign(db.database.pool, account, { phase: 'snapshot' });
    await query(
      `update campaigns set status = 'completed', phase = 'done', engine_expected_by = null where id = $1`,
      [done],
    );
    await reconcile(deps);
    await expect(handleOf(id).describe()).rejects.toThrow();
    await query(`update engine_state set namespace_id = 'an earlier one'`);
    await reconcile(deps);
    expect((await handleOf(id).describe()).status.name).toBe('RUNNING');
    await expect(handleOf(done).describe()).rejects.toThrow();
  });
});
