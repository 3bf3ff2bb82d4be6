import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createTestTenant, type TestTenant } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startReceiver, type Receiver } from '../support/https-receiver.ts';
import {
  addWebhook,
  deliveriesOf,
  publishSent,
  startWebhookLoop,
  type RunningLoop,
} from '../support/webhooks.ts';

let test: TestDatabase;
let silent: Receiver;
let healthy: Receiver;
let running: RunningLoop;

beforeAll(async () => {
  test = await createTestDatabase();
  [silent, healthy] = await Promise.all([startReceiver({ answer: () => undefined }), startReceiver()]);
});
afterAll(async () => {
  await running.stop();
  await Promise.all([silent.close(), healthy.close()]);
  await test.drop();
}, 30_000);

it('endpoints that never answer do not delay the others', async () => {
  const tenants: TestTenant[] = [];
  for (let n = 0; n < 30; n += 1) tenants.push(await createTestTenant(test.database, `Silent ${n}`));
  for (const tenant of tenants) {
    for (let n = 0; n < 10; n += 1) {
      await addWebhook(test.database, tenant, silent.url(`/${n}`, '127.0.0.1'));
    }
    await publishSent(
      test.database,
      tenant,
      Array.from({ length: 10 }, (_each, index) => index + 1),
    );
  }
  const brisk = await createTestTenant(test.database, 'Brisk');
  const { id } = await addWebhook(test.database, brisk, healthy.url('/hook', '127.0.0.1'));
  running = await startWebhookLoop(test.database);
  // More than fill every slot, and wait for their time-out.
  await eventually(() => expect(silent.requests.length).toBeGreaterThan(400));
  const publishedAt = Date.now();
  await publishSent(
    test.database,
    brisk,
    Array.from({ length: 100 }, (_each, index) => index + 1),
  );
  running.waker.wake('webhook');
  await eventually(async () => {
    const rows = await deliveriesOf(test.database, id);
    expect(rows.filter((row) => row.status === 'delivered')).toHaveLength(100);
  });
  const slowest = Math.max(...healthy.requests.map((request) => request.at)) - publishedAt;
  // A second is the rule; the rest is for a busy machine.
  expect(slowest).toBeLessThan(3_000);
}, 60_000);
