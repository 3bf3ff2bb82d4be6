// A webhook retry is timed by the attempt itself, and the wait for it ends when the worker is about to stop.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import pino from 'pino';
import { createWebhookActivities } from '../../activities/webhooks.ts';
import { createResolver } from '../../src/platform/dns/resolver.ts';
import { createTestTenant, type TestTenant } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { testEvents } from '../support/events.ts';
import { addWebhook, deliveriesOf, publishSent, testKeyring, testSchedule } from '../support/webhooks.ts';

const MINUTE_MS = 60_000;

let test: TestDatabase;
let tenant: TestTenant;
beforeAll(async () => {
  test = await createTestDatabase();
  tenant = await createTestTenant(test.database, 'Stopped');
}, 60_000);
afterAll(() => test.drop());

function createActivities(stopping = new AbortController().signal) {
  return createWebhookActivities({
    config: {
      EGRESS_ALLOW: ['127.0.0.0/8'],
      WEBHOOK_RETRY_SCHEDULE: testSchedule,
      MAIL_DOMAIN: 'carillon.test',
    },
    database: test.database,
    waker: { wake: () => undefined },
    keyring: testKeyring,
    resolver: createResolver([]),
    events: testEvents,
    log: pino({ level: 'silent' }),
    stopping,
  });
}

/** @param scheduledAt when the workflow scheduled the activity, by the engine's clock */
function environmentOf(scheduledAt: Date): MockActivityEnvironment {
  const logger = new DefaultLogger('ERROR', () => undefined);
  return new MockActivityEnvironment({ scheduledTimestampMs: scheduledAt.getTime() }, { logger });
}

/** Creates a webhook whose endpoint never answers, with one delivery that waits for a retry. */
async function retryDue(at: Date): Promise<number> {
  const { id } = await addWebhook(test.database, tenant, 'https://127.0.0.1:1/hook');
  await publishSent(test.database, tenant, [1]);
  await test.database.pool.query(
    `update webhook_deliveries set status = 'retrying', attempt_count = 1, next_attempt_at = $2 where webhook_id = $1`,
    [id, at],
  );
  return id;
}

it('ends the wait for the next retry when its process is about to stop', async () => {
  const stopping = new AbortController();
  const { deliverDueRetries } = createActivities(stopping.signal);
  const asOf = new Date();
  const id = await retryDue(new Date(asOf.getTime() + 4_500));
  const startedAt = performance.now();
  setTimeout(() => stopping.abort(), 200);
  const progress = await environmentOf(asOf).run(deliverDueRetries, id, asOf.toISOString());
  expect(progress).toEqual({ attempted: 0, delivered: 0 });
  expect(performance.now() - startedAt).toBeGreaterThan(150);
}, 60_000);

it('reports its attempts in its heartbeats', async () => {
  const enough = new AbortController();
  const { deliverDueRetries } = createActivities(enough.signal);
  const asOf = new Date();
  const id = await retryDue(asOf);
  await publishSent(test.database, tenant, [2]);
  await test.database.pool.query(
    `update webhook_deliveries set status = 'retrying', attempt_count = 1, next_attempt_at = $2
     where webhook_id = $1 and status = 'pending'`,
    [id, new Date(asOf.getTime() + 4_500)],
  );
  const environment = environmentOf(asOf);
  const heard: unknown[] = [];
  environment.on('heartbeat', (details: unknown) => {
    heard.push(details);
    enough.abort();
  });
  await environment.run(deliverDueRetries, id, asOf.toISOString());
  expect(heard).toEqual([{ attempted: 1, delivered: 0 }]);
}, 60_000);

describe('the time of an attempt', () => {
  /** @returns when the attempt was made, by its record, and how many milliseconds later the next is due */
  async function attemptedAt(asOf: Date): Promise<{ madeAt: number; nextInMs: number }> {
    const id = await retryDue(asOf);
    const { deliverDueRetries } = createActivities();
    const progress = await environmentOf(asOf).run(deliverDueRetries, id, asOf.toISOString());
    expect(progress).toEqual({ attempted: 1, delivered: 0 });
    const [delivery] = await deliveriesOf(test.database, id);
    const { rows } = await test.database.pool.query<{ at: Date }>(
      'select started_at as at from webhook_attempts where delivery_id = $1',
      [delivery?.id],
    );
    const madeAt = rows[0]?.at.getTime() ?? 0;
    return { madeAt, nextInMs: (delivery?.next_attempt_at?.getTime() ?? 0) - madeAt };
  }

  it('includes the time that the activity spent waiting for a worker or failing', async () => {
    const before = Date.now();
    const { madeAt, nextInMs } = await attemptedAt(new Date(before - 19 * MINUTE_MS));
    expect(madeAt).toBeGreaterThanOrEqual(before);
    expect(madeAt).toBeLessThanOrEqual(Date.now());
    expect(nextInMs).toBeGreaterThanOrEqual(5 * MINUTE_MS);
  });

  it("follows the engine's clock if that is ahead", async () => {
    const asOf = new Date(Date.now() + 60 * MINUTE_MS);
    const startedAt = Date.now();
    const { madeAt } = await attemptedAt(asOf);
    const passedMs = Date.now() - startedAt;
    expect(madeAt).toBeGreaterThanOrEqual(asOf.getTime());
    expect(madeAt).toBeLessThanOrEqual(asOf.getTime() + passedMs);
  });
});

it('plans as of now, even if the workflow called long ago', async () => {
  const asOf = new Date(Date.now() - 19 * MINUTE_MS);
  const id = await retryDue(new Date(asOf.getTime() + MINUTE_MS));
  const { planWebhookRecovery, hastenWebhookRetries } = createActivities();
  const planned = await environmentOf(asOf).run(planWebhookRecovery, id, asOf.toISOString());
  expect(planned).toMatchObject({ phase: 'due' });
  const later = new Date(Date.now() + 60 * MINUTE_MS);
  await test.database.pool.query('update webhook_deliveries set next_attempt_at = $2 where webhook_id = $1', [
    id,
    later,
  ]);
  const before = Date.now();
  await environmentOf(asOf).run(hastenWebhookRetries, id, asOf.toISOString());
  const [delivery] = await deliveriesOf(test.database, id);
  const dueAt = delivery?.next_attempt_at?.getTime() ?? 0;
  expect(dueAt).toBeGreaterThanOrEqual(before);
  expect(dueAt).toBeLessThanOrEqual(Date.now());
});
