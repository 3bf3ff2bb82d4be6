// A worker that is killed in a short step of a campaign costs an operator 15 s; one that is slow keeps its step.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import pino from 'pino';
import { createCampaignActivities } from '../../activities/campaigns.ts';
import { loadConfig } from '../../src/config.ts';
import { readCampaign } from '../../src/features/campaigns/run/page.ts';
import { campaignStart } from '../../src/features/campaigns/workflow.ts';
import { inTransaction } from '../../src/platform/db/queryable.ts';
import { installRuntime } from '../../src/platform/temporal/worker.ts';
import type { CampaignActivities } from '../../workflows/campaigns/contract.ts';
import { TEST_SECRET } from '../support/api.ts';
import { evaluationsIn, insertSentCampaign } from '../support/campaign-runs.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { sharedWorkflowBundle, useEngine } from '../support/engine.ts';
import { testEvents } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import { insertAccount } from '../support/queued.ts';

/** Until a killed worker is noticed, and what a busy machine adds. */
const NOTICED_MS = 15_000 + 5_000;

let env: TestWorkflowEnvironment;
let db: TestDatabase;
let activities: CampaignActivities;
let worker: Worker;
let running: Promise<void>;
/** The activity that dies with its worker at its next call: it neither ends nor sends a heartbeat. */
let dying: keyof CampaignActivities | null = null;
const released = new AbortController();

/** Hangs in place of an activity whose worker was killed: this is what the engine sees of it. */
function mortal<Name extends 'lookAtCampaign' | 'changeCampaign'>(name: Name): CampaignActivities[Name] {
  const call = async (...args: unknown[]): Promise<unknown> => {
    if (dying === name) {
      dying = null;
      await delay(600_000, undefined, { signal: released.signal }).catch(() => undefined);
    }
    return (activities[name] as (...args: unknown[]) => Promise<unknown>)(...args);
  };
  return call as CampaignActivities[Name];
}

beforeAll(async () => {
  installRuntime(pino({ level: 'silent' }));
  [env, db] = await Promise.all([
    useEngine().then((engine) => TestWorkflowEnvironment.createFromExistingServer(engine)),
    createTestDatabase(),
  ]);
  activities = createCampaignActivities({
    config: loadConfig({ APP_SECRET: TEST_SECRET, DATABASE_URL: db.url, MAIL_DOMAIN: 'mail.test' }),
    database: db.database,
    waker: { wake: () => undefined },
    events: testEvents,
    evaluations: evaluationsIn(db.database.pool),
    log: pino({ level: 'silent' }),
    stopping: new AbortController().signal,
  });
  worker = await Worker.create({
    connection: env.nativeConnection,
    namespace: env.namespace ?? 'default',
    taskQueue: 'orchestration',
    workflowBundle: await sharedWorkflowBundle(),
    activities: {
      ...activities,
      lookAtCampaign: mortal('lookAtCampaign'),
      changeCampaign: mortal('changeCampaign'),
    },
  });
  running = worker.run();
}, 120_000);
afterAll(async () => {
  released.abort();
  worker.shutdown();
  await running;
  await env.teardown();
  await db.drop();
});

/** Starts the workflow of a campaign that waits for its time. */
async function begin() {
  const account = await insertAccount(db.database);
  const scheduledAt = new Date(Date.now() + 30 * 86_400_000);
  const id = await insertSentCampaign(db.database.pool, account, { scheduledAt });
  const start = campaignStart({ id, ...account, name: 'Spring sale' });
  const handle = await env.client.workflow.start(start.workflowType, {
    workflowId: start.workflowId,
    taskQueue: 'orchestration',
    args: start.input ?? [],
  });
  return { id, handle };
}

const statusOf = async (id: number) => (await readCampaign(db.database.pool, id))?.status;

describe('an operator', () => {
  it.each(['lookAtCampaign', 'changeCampaign'] as const)(
    'waits at most 15 s after a worker is killed in %s',
    async (name) => {
      const { id, handle } = await begin();
      await eventually(async () =>
        expect(await handle.query('state')).toMatchObject({ waitingFor: 'schedule' }),
      );
      dying = name;
      const startedAt = Date.now();
      await handle.signal('pause');
      await eventually(async () => {
        expect(await statusOf(id)).toBe('paused');
        expect(await handle.query('state')).toMatchObject({ waitingFor: 'resume' });
      }, 60_000);
      expect(Date.now() - startedAt).toBeLessThan(NOTICED_MS);
      await handle.terminate();
    },
    90_000,
  );
});

it('does not cause a repetition of a slow look, because it sends heartbeats', async () => {
  const { id, handle } = await begin();
  const attempts = await inTransaction(db.database.pool, async (trx) => {
    await trx.query('select 1 from campaigns where id = $1 for update', [id]);
    await handle.signal('wake');
    await delay(NOTICED_MS);
    const { raw } = await handle.describe();
    return (raw.pendingActivities ?? []).map(({ attempt }) => attempt);
  });
  expect(attempts).toEqual([1]);
  await handle.terminate();
}, 90_000);
