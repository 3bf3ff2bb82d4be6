import type { WorkflowHandle } from '@temporalio/client';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import pino from 'pino';
import { createWebhookActivities } from '../../activities/webhooks.ts';
import type { DueDelivery } from '../../src/features/webhooks/attempts/attempt.ts';
import { recordAttempts } from '../../src/features/webhooks/attempts/record.ts';
import { exactTime } from '../../src/platform/db/queryable.ts';
import { createWaker, type Waker } from '../../src/platform/db/wake.ts';
import { createResolver } from '../../src/platform/dns/resolver.ts';
import { createDispatcher } from '../../src/platform/outbox/dispatcher.ts';
import { searchAttributeNames } from '../../src/platform/temporal/contract.ts';
import { webhookWorkflowId, type WebhookRecoveryState } from '../../workflows/webhooks/contract.ts';
import { createTestTenant, type TestTenant } from './api.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { sharedWorkflowBundle, useEngine } from './engine.ts';
import { testEvents } from './events.ts';
import { eventually } from './eventually.ts';
import { testCa } from './https-receiver.ts';
import { testPulse } from './pulse.ts';
import { createTimeSkippingEnvironment } from './time-skipping.ts';
import { publishSent, testKeyring } from './webhooks.ts';

/** A value of temporal.api.enums.v1.IndexedValueType. */
const KEYWORD = 2;
const ATTEMPT_MS = 5;

/** The recovery workflow with its activities and the outbox's dispatcher, on an engine. */
export interface RecoveryStage {
  env: TestWorkflowEnvironment;
  test: TestDatabase;
  tenant: TestTenant;
  waker: Waker;
  /** The time of the engine's clock, which runs ahead of this machine's if it skips time. */
  now(): Promise<Date>;
  handle(webhookId: number): WorkflowHandle;
  /**
   * Publishes one event and records its first attempt, like the webhook loop would.
   * @returns when the attempt began
   */
  attempt(webhookId: number, delivered: boolean, options?: AttemptOptions): Promise<Date>;
  /** Waits until the workflow has received every signal and sleeps. @returns its state */
  asleep(webhookId: number): Promise<WebhookRecoveryState>;
  stop(): Promise<void>;
}

export interface AttemptOptions {
  /** When the attempt began, by the engine's clock; now by default. */
  at?: Date;
  /** Delays of this event's retries; the stage's schedule by default. */
  schedule?: readonly number[];
  /** The URL of the attempt; the webhook's by default. */
  url?: string;
}

async function pendingOf(test: TestDatabase, webhookId: number): Promise<(DueDelivery & { url: string })[]> {
  const { rows } = await test.database.pool.query<DueDelivery & { url: string }>(
    `select d.id as "deliveryId", ${exactTime('d.created_at')} as "createdAt", d.webhook_id as "webhookId",
       d.generation, 1 as attempt, d.event_id as "eventId", e.type, e.occurred_at as "occurredAt", e.data::text as data,
       w.url
     from webhook_deliveries d join events e on e.id = d.event_id and e.created_at = d.created_at
       join webhooks w on w.id = d.webhook_id
     where d.webhook_id = $1 and d.status = 'pending'`,
    [webhookId],
  );
  return rows;
}

async function startWorkers(env: TestWorkflowEnvironment, test: TestDatabase, schedule: number[]) {
  const activities = createWebhookActivities({
    config: {
      EGRESS_ALLOW: ['127.0.0.0/8'],
      WEBHOOK_RETRY_SCHEDULE: schedule,
      MAIL_DOMAIN: 'carillon.test',
    },
    database: test.database,
    waker: { wake: () => undefined },
    keyring: testKeyring,
    resolver: createResolver([]),
    events: testEvents,
    log: pino({ level: 'silent' }),
    ca: [testCa],
  });
  const options = { connection: env.nativeConnection, namespace: env.namespace ?? 'default', activities };
  const workers = [
    await Worker.create({
      ...options,
      taskQueue: 'orchestration',
      workflowBundle: await sharedWorkflowBundle(),
    }),
    await Worker.create({ ...options, taskQueue: 'bulk' }),
  ];
  const running = workers.map((worker) => worker.run());
  return async () => {
    for (const worker of workers) worker.shutdown();
    await Promise.all(running);
  };
}

function startDispatcher(env: TestWorkflowEnvironment, test: TestDatabase) {
  const waker = createWaker({ url: test.url });
  const log = pino({ level: 'silent' });
  const dispatcher = createDispatcher({
    database: test.database,
    client: env.client,
    waker,
    pulse: testPulse(test.database.pool),
    log,
  });
  return {
    waker,
    async stop() {
      await dispatcher.stop();
      await waker.close();
    },
  };
}

/** An engine whose clock jumps to the next timer while a test awaits a result. */
async function createSkippingEngine(): Promise<TestWorkflowEnvironment> {
  const env = await createTimeSkippingEnvironment();
  await env.connection.operatorService.addSearchAttributes({
    namespace: 'default',
    searchAttributes: Object.fromEntries(searchAttributeNames.map((name) => [name, KEYWORD])),
  });
  return env;
}

/** The run's shared engine. It uses the clock of this machine and is much faster. */
export async function useSharedEngine(): Promise<TestWorkflowEnvironment> {
  return TestWorkflowEnvironment.createFromExistingServer(await useEngine());
}

/** @param schedule WEBHOOK_RETRY_SCHEDULE */
export async function startRecoveryStage(
  schedule: number[],
  createEngine = createSkippingEngine,
): Promise<RecoveryStage> {
  const [env, test] = await Promise.all([createEngine(), createTestDatabase()]);
  const { pool } = test.database;
  const tenant = await createTestTenant(test.database, 'Recovered');
  const stopWorkers = await startWorkers(env, test, schedule);
  const dispatcher = startDispatcher(env, test);
  const now = async () => new Date(await env.currentTimeMs());
  const handle = (webhookId: number) => env.client.workflow.getHandle(webhookWorkflowId(webhookId));
  return {
    env,
    test,
    tenant,
    waker: dispatcher.waker,
    now,
    handle,
    async attempt(webhookId, delivered, options = {}) {
      const startedAt = options.at ?? (await now());
      await publishSent(test.database, tenant, [1]);
      const responseCode = delivered ? 200 : 500;
      const outcome = {
        delivered,
        startedAt,
        durationMs: ATTEMPT_MS,
        timedOut: false,
        responseCode,
        error: delivered ? null : `status ${responseCode}`,
        excerpt: null,
        retryAfterSeconds: null,
      };
      const made = (await pendingOf(test, webhookId)).map(({ url, ...due }) => ({
        due,
        url: options.url ?? url,
        outcome,
      }));
      const rules = {
        schedule: options.schedule ?? schedule,
        systemFrom: 'carillon@carillon.test',
        events: testEvents,
      };
      await recordAttempts(pool, { made, dropped: [] }, rules);
      dispatcher.waker.wake('outbox');
      return startedAt;
    },
    asleep: (webhookId) =>
      eventually(async () => {
        const { rowCount } = await pool.query('select 1 from outbox');
        const state = await handle(webhookId).query<WebhookRecoveryState>('state');
        if (rowCount !== 0 || state.phase !== 'sleeping') throw new Error(`still ${state.phase}`);
        return state;
      }),
    async stop() {
      await dispatcher.stop();
      await stopWorkers();
      await env.teardown();
      await test.drop();
    },
  };
}
