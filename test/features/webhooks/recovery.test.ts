// The recovery retries failed deliveries by the schedule until they succeed or their attempts run out.
import { expect, it } from '@jest/globals';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import pino from 'pino';
import { createWebhookActivities } from '../../../activities/webhooks.ts';
import { webhookSource } from '../../../src/features/webhooks/workflow.ts';
import { createResolver } from '../../../src/platform/dns/resolver.ts';
import { reconcile } from '../../../src/platform/outbox/reconciler.ts';
import { searchAttributeNames } from '../../../src/platform/temporal/contract.ts';
import { webhookWorkflowId, type WebhookRecoveryState } from '../../../workflows/webhooks/contract.ts';
import { createTestTenant, type TestTenant } from '../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { sharedWorkflowBundle } from '../../support/engine.ts';
import { testEvents } from '../../support/events.ts';
import { eventually } from '../../support/eventually.ts';
import { startReceiver, testCa, type Receiver } from '../../support/https-receiver.ts';
import { testsThatNeed } from '../../support/tests-that-need.ts';
import { createTimeSkippingEnvironment } from '../../support/time-skipping.ts';
import {
  addWebhook,
  deliveriesOf,
  publishSent,
  rowOf,
  startWebhookLoop,
  testKeyring,
} from '../../support/webhooks.ts';

const { afterAll, afterEach, beforeAll, beforeEach, describe } = testsThatNeed('time-skipping server');

/** The default schedule (interface §6.5). */
const schedule = [60, 300, 1_800, 7_200, 28_800, 86_400];

/** A value of temporal.api.enums.v1.IndexedValueType. */
const KEYWORD = 2;

let env: TestWorkflowEnvironment;
let test: TestDatabase;
let tenant: TestTenant;
let receiver: Receiver;
let workers: Worker[] = [];
let running: Promise<void>[] = [];

beforeAll(async () => {
  [env, test] = await Promise.all([createTimeSkippingEnvironment(), createTestDatabase()]);
  tenant = await createTestTenant(test.database, 'Recovered');
  await env.connection.operatorService.addSearchAttributes({
    namespace: 'default',
    searchAttributes: Object.fromEntries(searchAttributeNames.map((name) => [name, KEYWORD])),
  });
  const workflowBundle = await sharedWorkflowBundle();
  const activities = createWebhookActivities({
    config: { EGRESS_ALLOW: ['127.0.0.0/8'], WEBHOOK_RETRY_SCHEDULE: schedule, MAIL_DOMAIN: 'carillon.test' },
    database: test.database,
    waker: { wake: () => undefined },
    keyring: testKeyring,
    resolver: createResolver([]),
    events: testEvents,
    log: pino({ level: 'silent' }),
    ca: [testCa],
  });
  const options = { connection: env.nativeConnection, activities };
  workers = [
    await Worker.create({ ...options, taskQueue: 'orchestration', workflowBundle }),
    await Worker.create({ ...options, taskQueue: 'bulk' }),
  ];
  running = workers.map((worker) => worker.run());
}, 120_000);

afterAll(async () => {
  for (const worker of workers) worker.shutdown();
  await Promise.all(running);
  await env.teardown();
  await test.drop();
});
beforeEach(async () => {
  receiver = await startReceiver();
  receiver.answer = (_request, response) => void response.writeHead(500).end();
  await test.database.pool.query('delete from webhooks; delete from webhook_queue; delete from outbox');
});
afterEach(() => receiver.close());

/** Creates a webhook whose first attempts for these messages have failed. */
async function createFailed(messageIds: number[]): Promise<number> {
  const { id } = await addWebhook(test.database, tenant, receiver.url('/hook', '127.0.0.1'));
  await publishSent(test.database, tenant, messageIds);
  const loop = await startWebhookLoop(test.database, { schedule });
  await eventually(async () => {
    const rows = await deliveriesOf(test.database, id);
    expect(rows.filter((row) => row.status === 'retrying')).toHaveLength(messageIds.length);
  });
  await loop.stop();
  // The engine's clock is ahead of this machine's once it has skipped time.
  const ahead = Math.max(0, (await env.currentTimeMs()) - Date.now());
  await test.database.pool.query(
    `with shifted as (
       update webhook_deliveries set next_attempt_at = next_attempt_at + make_interval(secs => $2) where webhook_id = $1
     )
     update webhooks set failing_since = failing_since + make_interval(secs => $2),
       last_failure_at = last_failure_at + make_interval(secs => $2) where id = $1`,
    [id, ahead / 1_000],
  );
  return id;
}

function startRecovery(id: number) {
  return env.client.workflow.start('webhookRecovery', {
    workflowId: webhookWorkflowId(id),
    taskQueue: 'orchestration',
    args: [{ schema: 1, webhookId: id }],
  });
}

async function isRunning(id: number): Promise<boolean> {
  const described = env.client.workflow.getHandle(webhookWorkflowId(id)).describe();
  return described.then(
    ({ status }) => status.name === 'RUNNING',
    () => false,
  );
}

async function attemptsOf(
  id: number,
): Promise<{ attempt: number; at: number; response_code: number | null }[]> {
  const { rows } = await test.database.pool.query<{
    attempt: number;
    started_at: Date;
    response_code: number;
  }>(
    `select a.* from webhook_attempts a join webhook_deliveries d on d.id = a.delivery_id
     where d.webhook_id = $1 order by a.delivery_id, a.attempt`,
    [id],
  );
  return rows.map((row) => ({ ...row, at: row.started_at.getTime() }));
}

describe('the recovery of a webhook', () => {
  it('retries by the schedule until the last attempt, after which the delivery fails', async () => {
    const id = await createFailed([1]);
    const handle = await startRecovery(id);
    await env.sleep('36 hours');
    const attempts = await attemptsOf(id);
    expect(attempts.map((each) => each.attempt)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    const waits = attempts.slice(1).map((each, index) => (each.at - (attempts[index]?.at ?? 0)) / 1_000);
    waits.forEach((seconds, index) => {
      expect(seconds).toBeGreaterThanOrEqual(schedule[index] ?? 0);
      expect(seconds).toBeLessThan((schedule[index] ?? 0) + 15);
    });
    expect(await deliveriesOf(test.database, id)).toMatchObject([
      { status: 'failed', attempt_count: 7, last_error: 'status 500', next_attempt_at: null },
    ]);
    expect(receiver.requests).toHaveLength(7);
    expect(new Set(receiver.requests.map((request) => request.headers['webhook-id'])).size).toBe(1);
    // The webhook is still failing, so the workflow waits to warn its owners and turn it off.
    expect((await handle.describe()).status.name).toBe('RUNNING');
    await handle.terminate();
  }, 60_000);

  it.each([2, 3, 4, 5, 6, 7])(
    'ends with the success of attempt %i',
    async (last) => {
      const id = await createFailed([1]);
      receiver.answer = (_request, response) =>
        void response.writeHead(receiver.requests.length < last ? 500 : 204).end();
      await (await startRecovery(id)).result();
      expect(await deliveriesOf(test.database, id)).toMatchObject([
        { status: 'delivered', attempt_count: last, response_code: 204, last_error: null },
      ]);
      expect(await rowOf(test.database, id)).toMatchObject({ recovery_armed: false, failing_since: null });
    },
    60_000,
  );

  it('retries many deliveries in few activities', async () => {
    const numbers = Array.from({ length: 300 }, (_each, index) => index + 1);
    const id = await createFailed(numbers);
    receiver.answer = (_request, response) => void response.end();
    const handle = await startRecovery(id);
    await handle.result();
    const rows = await deliveriesOf(test.database, id);
    expect(rows.every((row) => row.status === 'delivered' && row.attempt_count === 2)).toBe(true);
    const { events } = await handle.fetchHistory();
    // Less than one event of the engine's history per failed delivery, however they are grouped.
    expect(events?.length).toBeLessThan(numbers.length);
  }, 60_000);

  it('ends retries of a former generation without attempts', async () => {
    const id = await createFailed([1, 2]);
    const before = receiver.requests.length;
    await test.database.pool.query(
      'update webhooks set generation = generation + 2, failing_since = null where id = $1',
      [id],
    );
    await (await startRecovery(id)).result();
    const ended = { status: 'failed', last_error: 'webhook_off', attempt_count: 1 };
    expect(await deliveriesOf(test.database, id)).toMatchObject([ended, ended]);
    expect(receiver.requests).toHaveLength(before);
  }, 60_000);

  it('ends if the webhook no longer exists', async () => {
    const id = await createFailed([1]);
    await test.database.pool.query('delete from webhooks where id = $1', [id]);
    await (await startRecovery(id)).result();
    expect(receiver.requests).toHaveLength(1);
  }, 60_000);

  it('shows what it waits for, and attempts all retries at once on a signal', async () => {
    const id = await createFailed([1, 2]);
    const handle = await startRecovery(id);
    const state = await eventually(async () => {
      const current = await handle.query<WebhookRecoveryState>('state');
      expect(current.phase).toBe('sleeping');
      return current;
    });
    const rows = await deliveriesOf(test.database, id);
    expect(state).toMatchObject({ retrying: 2, attempted: 0 });
    expect(state.failingSince).not.toBeNull();
    expect(state.nextAttemptAt).toBe(
      new Date(Math.min(...rows.map((row) => row.next_attempt_at?.getTime() ?? 0))).toISOString(),
    );
    receiver.answer = (_request, response) => void response.end();
    await handle.signal('retryNow');
    await eventually(async () => {
      const after = await deliveriesOf(test.database, id);
      expect(after.map((row) => row.status)).toEqual(['delivered', 'delivered']);
    });
    await handle.result();
    const [first] = (await attemptsOf(id)).filter((attempt) => attempt.attempt === 2);
    expect(first?.at).toBeLessThan(rows[0]?.next_attempt_at?.getTime() ?? 0);
  }, 60_000);

  it('is started by the reconciler if the engine has lost it', async () => {
    const id = await createFailed([1]);
    receiver.answer = (_request, response) => void response.end();
    await test.database.pool.query('delete from outbox; delete from engine_state');
    let namespaceId = 'before';
    const deps = {
      database: test.database,
      client: env.client,
      namespaceId: async () => namespaceId,
      prepare: async () => undefined,
      sources: [webhookSource],
      log: pino({ level: 'silent' }),
    };
    await reconcile(deps);
    expect(await isRunning(id)).toBe(false);
    namespaceId = 'a new, empty one';
    await reconcile(deps);
    expect(await isRunning(id)).toBe(true);
    await env.client.workflow.getHandle(webhookWorkflowId(id)).result();
    expect(await deliveriesOf(test.database, id)).toMatchObject([{ status: 'delivered', attempt_count: 2 }]);
  }, 60_000);

  it('ends even if wake-ups keep arriving', async () => {
    const id = await createFailed([1]);
    receiver.answer = (_request, response) => void response.end();
    const handle = await startRecovery(id);
    // Wake-ups, including the dispatcher's, reach a run at any point of its work.
    for (let n = 0; n < 30; n += 1) await handle.signal('wake').catch(() => undefined);
    await handle.result();
    expect(await deliveriesOf(test.database, id)).toMatchObject([{ status: 'delivered' }]);
    expect(await rowOf(test.database, id)).toMatchObject({ recovery_armed: false });
  }, 60_000);
});
