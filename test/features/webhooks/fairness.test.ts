import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestTenant, type TestTenant } from '../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { startReceiver, type Answer, type Receiver } from '../../support/https-receiver.ts';
import {
  addWebhook,
  deliveriesOf,
  publishSent,
  startWebhookLoop,
  type RunningLoop,
} from '../../support/webhooks.ts';

const TIME_OUT_MS = 10_000;
/** A second is the rule; the rest is for a busy machine. */
const DELAY_LIMIT_MS = 3_000;
/** A tenth of a process's. */
const SLOW_SLOTS = 51;
let test: TestDatabase;
let silent: Receiver;
let healthy: Receiver;
let running: RunningLoop;
/** Requests that the silent receiver has and does not answer. */
let open: number;

const keepSilent: Answer = (_request, response) => {
  open += 1;
  response.once('close', () => (open -= 1));
};

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());
beforeEach(async () => {
  open = 0;
  await test.database.pool.query('delete from webhooks; delete from webhook_queue');
  [silent, healthy] = await Promise.all([startReceiver({ answer: keepSilent }), startReceiver()]);
});
afterEach(async () => {
  await Promise.all([silent.close(), healthy.close()]);
  await running.stop();
}, 30_000);

const numbers = (count: number) => Array.from({ length: count }, (_each, index) => index + 1);

/** Most requests that were open at once, from now on. */
async function mostOpen(forMs: number): Promise<number> {
  let most = 0;
  for (const end = Date.now() + forMs; Date.now() < end; await delay(5)) most = Math.max(most, open);
  return most;
}

async function addSilentEndpoints(tenants: number): Promise<void> {
  for (let n = 0; n < tenants; n += 1) {
    const tenant = await createTestTenant(test.database, `Silent ${n}`);
    for (const path of numbers(10))
      await addWebhook(test.database, tenant, silent.url(`/${path}`, '127.0.0.1'));
    await publishSent(test.database, tenant, numbers(10));
  }
}

/** Publish to a healthy endpoint. @returns milliseconds until the last event arrived */
async function slowestOf(tenant: TestTenant, webhookId: number, count: number): Promise<number> {
  const before = healthy.requests.length;
  const publishedAt = Date.now();
  await publishSent(test.database, tenant, numbers(count));
  running.waker.wake('webhook');
  await eventually(async () => {
    const rows = await deliveriesOf(test.database, webhookId);
    expect(rows.filter((row) => row.status === 'delivered')).toHaveLength(before + count);
  });
  return Math.max(...healthy.requests.map((request) => request.at)) - publishedAt;
}

describe('endpoints that never answer', () => {
  it('do not delay the others, and get a tenth of the slots once they are known', async () => {
    await addSilentEndpoints(56);
    const brisk = await createTestTenant(test.database, 'Brisk');
    const { id } = await addWebhook(test.database, brisk, healthy.url('/hook', '127.0.0.1'));
    running = await startWebhookLoop(test.database);
    // More than fill every slot, and wait for their time-out.
    await eventually(() => expect(silent.requests.length).toBeGreaterThan(500), 45_000);
    expect(await slowestOf(brisk, id, 100)).toBeLessThan(DELAY_LIMIT_MS);

    const first = silent.requests.length;
    await eventually(() => expect(open).toBeLessThanOrEqual(SLOW_SLOTS), TIME_OUT_MS + 5_000);
    const most = mostOpen(TIME_OUT_MS / 2);
    expect(await slowestOf(brisk, id, 100)).toBeLessThan(DELAY_LIMIT_MS);
    expect(await most).toBeLessThanOrEqual(SLOW_SLOTS);
    // They are tried all the same.
    expect(silent.requests.length).toBeGreaterThan(first);
  }, 120_000);
});

describe('an endpoint that answered and then does not', () => {
  it('gets 16 attempts at once, and 2 after five time-outs in a row', async () => {
    silent.answer = (_request, response) => void response.end();
    const tenant = await createTestTenant(test.database, 'Turning');
    await addWebhook(test.database, tenant, silent.url('/hook', '127.0.0.1'));
    running = await startWebhookLoop(test.database);
    await publishSent(test.database, tenant, [1]);
    await eventually(() => expect(silent.requests).toHaveLength(1));

    silent.answer = keepSilent;
    await publishSent(test.database, tenant, numbers(60));
    await eventually(() => expect(open).toBe(16));
    expect(await mostOpen(1_000)).toBe(16);
    await eventually(() => expect(open).toBeLessThanOrEqual(2), TIME_OUT_MS + 5_000);
    await eventually(() => expect(open).toBe(2));
    expect(await mostOpen(TIME_OUT_MS * 1.2)).toBe(2);
    expect(silent.requests.length).toBeGreaterThan(1 + 16 + 2);
  }, 90_000);
});
