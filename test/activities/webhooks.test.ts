import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import pino from 'pino';
import { createWebhookActivities } from '../../activities/webhooks.ts';
import { createResolver } from '../../src/dns/resolver.ts';
import { createTestTenant, type TestTenant } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { addWebhook, publishSent, testKeyring, testSchedule } from '../support/webhooks.ts';

let test: TestDatabase;
let tenant: TestTenant;
beforeAll(async () => {
  test = await createTestDatabase();
  tenant = await createTestTenant(test.database, 'Stopped');
}, 60_000);
afterAll(() => test.drop());

it('ends the wait for the next retry when its process is about to stop', async () => {
  const stopping = new AbortController();
  const { deliverDueRetries } = createWebhookActivities({
    config: {
      EGRESS_ALLOW: ['127.0.0.0/8'],
      WEBHOOK_RETRY_SCHEDULE: testSchedule,
      MAIL_DOMAIN: 'carillon.test',
    },
    database: test.database,
    waker: { wake: () => undefined },
    keyring: testKeyring,
    resolver: createResolver([]),
    log: pino({ level: 'silent' }),
    stopping: stopping.signal,
  });
  const { id } = await addWebhook(test.database, tenant, 'https://127.0.0.1:1/hook');
  await publishSent(test.database, tenant, [1]);
  await test.database.pool.query(
    `update webhook_deliveries set status = 'retrying', attempt_count = 1, next_attempt_at = now() + interval '4.5 s'
     where webhook_id = $1`,
    [id],
  );
  const environment = new MockActivityEnvironment(
    {},
    { logger: new DefaultLogger('ERROR', () => undefined) },
  );
  const startedAt = performance.now();
  setTimeout(() => stopping.abort(), 200);
  const asOf = new Date().toISOString();
  expect(await environment.run(deliverDueRetries, id, asOf)).toEqual({ attempted: 0, delivered: 0 });
  expect(performance.now() - startedAt).toBeGreaterThan(150);
  expect(performance.now() - startedAt).toBeLessThan(3_000);
}, 30_000);
