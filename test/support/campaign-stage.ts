/** The workflow of campaigns on the shared engine, with its dispatcher and a sender connected to an SMTP server. */
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import pino from 'pino';
import { createCampaignActivities } from '../../activities/campaigns.ts';
import { loadConfig } from '../../src/config.ts';
import { createContentEngine } from '../../src/delivery/content/templates/engine.ts';
import { createSharedValues } from '../../src/delivery/sender/compose/shared-values.ts';
import { createVersionReader } from '../../src/delivery/content/templates/versions.ts';
import { createSmtpProvider } from '../../src/delivery/wire/providers/smtp/hand-over.ts';
import { createEmailChannel } from '../../src/delivery/sender/email/hand-over.ts';
import { campaignWake } from '../../src/features/campaigns/workflow.ts';
import { createBrandOf, brandValues } from '../../src/features/templates/brand-parts.ts';
import { createRecipientPages } from '../../src/features/unsubscribe/service.ts';
import { createWaker, type Waker } from '../../src/platform/db/wake.ts';
import { appendToOutbox } from '../../src/platform/outbox/append.ts';
import { createDispatcher } from '../../src/platform/outbox/dispatcher.ts';
import { type CampaignState, campaignWorkflowId } from '../../workflows/campaigns/contract.ts';
import { TEST_SECRET } from './api.ts';
import { evaluationsIn } from './campaign-runs.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { sharedWorkflowBundle, useEngine } from './engine.ts';
import { testEvents } from './events.ts';
import { eventually } from './eventually.ts';
import { testPulse } from './pulse.ts';
import type { QueuedAccount } from './queued.ts';
import { emailSettings, startSmtpServer, startTestSender, type TestSmtpServer } from './sending.ts';
import { testKeyring } from './webhooks.ts';

const PUBLIC_URL = 'https://app.test';
const log = pino({ level: 'silent' });

export interface CampaignStage {
  test: TestDatabase;
  server: TestSmtpServer;
  waker: Waker;
  /** Starts the workflow of a campaign like a send does. */
  start(campaignId: number, account: QueuedAccount): Promise<void>;
  /** Waits until the workflow sleeps for this reason, with no activity running. */
  asleep(campaignId: number, waitingFor: string): Promise<CampaignState>;
  stop(): Promise<void>;
}

async function startWorkers(env: TestWorkflowEnvironment, test: TestDatabase, waker: Waker) {
  const activities = createCampaignActivities({
    config: loadConfig({ APP_SECRET: TEST_SECRET, DATABASE_URL: test.url, MAIL_DOMAIN: 'mail.test' }),
    database: test.database,
    waker,
    events: testEvents,
    evaluations: evaluationsIn(test.database.pool),
    log,
    stopping: new AbortController().signal,
  });
  const options = { connection: env.nativeConnection, namespace: env.namespace ?? 'default', activities };
  const workflowBundle = await sharedWorkflowBundle();
  const workers = [
    await Worker.create({ ...options, taskQueue: 'orchestration', workflowBundle }),
    await Worker.create({ ...options, taskQueue: 'bulk' }),
  ];
  const running = workers.map((worker) => worker.run());
  return async () => {
    for (const worker of workers) worker.shutdown();
    await Promise.all(running);
  };
}

async function startCampaignSender({ url, database: { pool } }: TestDatabase, port: number) {
  const engine = createContentEngine({ threads: 1 });
  const brandOf = createBrandOf(pool, testKeyring, PUBLIC_URL);
  const contents = {
    versions: createVersionReader(pool),
    shared: createSharedValues(pool, async (scope) => brandValues(await brandOf(scope))),
    engine,
    pages: createRecipientPages(testKeyring, PUBLIC_URL),
  };
  const target = { host: '127.0.0.1', port, security: 'none', clientName: 'mail.test' } as const;
  const provider = createSmtpProvider({ target, connections: 4 });
  const domains = { find: () => ({ returnPathHost: 'bounces.mail.test', signers: [] }) };
  const channel = createEmailChannel(provider, { ...emailSettings({ domains }), contents });
  const sender = await startTestSender({ url, port, channel });
  return async () => {
    await sender.stop();
    await engine.close();
  };
}

export async function startCampaignStage(): Promise<CampaignStage> {
  const [env, test] = await Promise.all([
    useEngine().then((engine) => TestWorkflowEnvironment.createFromExistingServer(engine)),
    createTestDatabase({ poolMax: 10 }),
  ]);
  const { pool } = test.database;
  const waker = createWaker({ url: test.url });
  const server = await startSmtpServer();
  const stopWorkers = await startWorkers(env, test, waker);
  const stopSender = await startCampaignSender(test, server.port);
  const dispatcher = createDispatcher({
    database: test.database,
    client: env.client,
    waker,
    pulse: testPulse(test.database.pool),
    log,
  });
  return {
    ...{ test, server, waker },
    async start(id, account) {
      await appendToOutbox(pool, campaignWake({ id, ...account, name: 'Spring sale' }));
      waker.wake('outbox');
    },
    asleep: (campaignId, waitingFor) =>
      eventually(async () => {
        const handle = env.client.workflow.getHandle(campaignWorkflowId(campaignId));
        const { raw } = await handle.describe();
        const state = await handle.query<CampaignState>('state');
        const busy = (raw.pendingActivities ?? []).length;
        if (busy > 0 || state.waitingFor !== waitingFor) throw new Error(`waits for ${state.waitingFor}`);
        return state;
      }),
    async stop() {
      await stopSender();
      await dispatcher.stop();
      await stopWorkers();
      await Promise.all([waker.close(), server.stop(), env.teardown()]);
      await test.drop();
    },
  };
}
