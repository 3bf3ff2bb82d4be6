// Endpoints that never answer are limited to few slots, and do not delay the deliveries of others.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestTenant } from '../../support/api.ts';
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

const SLOTS = 512;
/** A tenth of the slots. */
const SLOW_SLOTS = 51;
const MAX_PER_ENDPOINT = 16;
const ENDPOINTS_PER_TENANT = 10;
const TIME_OUT_MS = 1_000;
/** Longer than any test. */
const NO_TIME_OUT_MS = 600_000;
/** How long `eventually` waits on a busy machine. */
const PATIENCE_MS = 120_000;

let test: TestDatabase;
let silent: Receiver;
let healthy: Receiver;
let running: RunningLoop;
/** Number of open and of ended requests to the silent receiver. */
let open: number;
let ended: number;
/** The largest number of concurrent attempts. It is read from the loop at each request to the silent receiver. */
let mostAttempts: number;

const attempts = () => running.loop.report().inFlight;

const keepSilent: Answer = (_request, response) => {
  open += 1;
  mostAttempts = Math.max(mostAttempts, attempts());
  response.once('close', () => {
    open -= 1;
    ended += 1;
  });
};

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());
beforeEach(async () => {
  open = 0;
  ended = 0;
  mostAttempts = 0;
  await test.database.pool.query('delete from webhooks; delete from webhook_queue');
  // Without TLS: handshakes of all slots at once would take a busy machine longer than the time-out.
  [silent, healthy] = await Promise.all([
    startReceiver({ answer: keepSilent, plain: true }),
    startReceiver(),
  ]);
});
afterEach(async () => {
  await Promise.all([silent.close(), healthy.close()]);
  await running.stop();
}, 60_000);

/** Only the silent receiver times out, even on a busy machine. */
const timeOutOfSilence = (url: string) =>
  url.startsWith(silent.url('/', '127.0.0.1')) ? TIME_OUT_MS : NO_TIME_OUT_MS;

const numbers = (count: number) => Array.from({ length: count }, (_each, index) => index + 1);

/** Adds endpoints that never respond, each with ten events. */
async function addSilentEndpoints(tenants: number): Promise<void> {
  for (let n = 0; n < tenants; n += 1) {
    const tenant = await createTestTenant(test.database, `Silent ${n}`);
    for (const path of numbers(ENDPOINTS_PER_TENANT))
      await addWebhook(test.database, tenant, silent.url(`/${path}`, '127.0.0.1'));
    await publishSent(test.database, tenant, numbers(10));
  }
}

/** Publishes 100 events to a new endpoint that responds, and waits until all are delivered. */
async function deliverToHealthyEndpoint(): Promise<void> {
  const tenant = await createTestTenant(test.database, 'Brisk');
  const { id } = await addWebhook(test.database, tenant, healthy.url('/hook', '127.0.0.1'));
  await publishSent(test.database, tenant, numbers(100));
  running.waker.wake('webhook');
  await eventually(async () => {
    const rows = await deliveriesOf(test.database, id);
    expect(rows.filter((row) => row.status === 'delivered')).toHaveLength(100);
  }, PATIENCE_MS);
}

describe('endpoints that never answer', () => {
  it('do not delay the others, even if they outnumber the slots', async () => {
    await addSilentEndpoints(56);
    running = await startWebhookLoop(test.database, { timeoutMs: NO_TIME_OUT_MS });
    await eventually(() => expect(open).toBeGreaterThanOrEqual(SLOTS), PATIENCE_MS);
    await deliverToHealthyEndpoint();
    // No slot became free in the meantime.
    expect(ended).toBe(0);
  }, 300_000);

  it('get a tenth of the slots once they are known', async () => {
    const tenants = 10;
    await addSilentEndpoints(tenants);
    running = await startWebhookLoop(test.database, { timeoutMs: timeOutOfSilence });
    const endpoints = tenants * ENDPOINTS_PER_TENANT;
    await eventually(() => expect(silent.requests.length).toBeGreaterThanOrEqual(endpoints), PATIENCE_MS);
    await eventually(() => expect(attempts()).toBeLessThanOrEqual(SLOW_SLOTS), PATIENCE_MS);
    mostAttempts = 0;
    const before = silent.requests.length;
    await deliverToHealthyEndpoint();
    // They are still tried.
    await eventually(() => expect(silent.requests.length).toBeGreaterThan(before + SLOW_SLOTS), PATIENCE_MS);
    expect(mostAttempts).toBeLessThanOrEqual(SLOW_SLOTS + MAX_PER_ENDPOINT);
  }, 300_000);
});

describe('an endpoint that answered and then stops answering', () => {
  it('gets 16 attempts at once, and 2 after five time-outs in a row', async () => {
    silent.answer = (_request, response) => void response.end();
    const tenant = await createTestTenant(test.database, 'Turning');
    await addWebhook(test.database, tenant, silent.url('/hook', '127.0.0.1'));
    running = await startWebhookLoop(test.database, { timeoutMs: timeOutOfSilence });
    await publishSent(test.database, tenant, [1]);
    await eventually(() => expect(silent.requests).toHaveLength(1));

    silent.answer = keepSilent;
    await publishSent(test.database, tenant, numbers(60));
    await eventually(() => expect(open).toBe(MAX_PER_ENDPOINT));
    await eventually(() => expect(attempts()).toBeLessThanOrEqual(2), PATIENCE_MS);
    expect(mostAttempts).toBe(MAX_PER_ENDPOINT);

    mostAttempts = 0;
    const before = silent.requests.length;
    await eventually(() => expect(silent.requests.length).toBeGreaterThanOrEqual(before + 4), PATIENCE_MS);
    expect(mostAttempts).toBe(2);
  }, 300_000);
});
