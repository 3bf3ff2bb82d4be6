// An attempt that began before its webhook was turned off never overrides a retry that was requested since.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { AttemptOutcome, WebhookDelivery } from '../../../src/features/webhooks/attempts/attempt.ts';
import { recordAttempts, type DroppedDelivery } from '../../../src/features/webhooks/attempts/record.ts';
import { createWebhookDeliveries } from '../../../src/features/webhooks/deliveries/service.ts';
import { claimDeliveries } from '../../../src/features/webhooks/loop/claim.ts';
import { findDueRetries } from '../../../src/features/webhooks/recovery/retries.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createTestTenant, type TestTenant } from '../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { testEvents } from '../../support/events.ts';
import {
  addWebhook,
  createTestManager,
  deliveriesOf,
  keyHolderOf,
  publishSent,
} from '../../support/webhooks.ts';

const URL = 'https://127.0.0.1/hook';
const HOUR_MS = 3_600_000;
const rules = { schedule: [60, 300, 1_800], systemFrom: 'carillon@carillon.test', events: testEvents };

let test: TestDatabase;
let tenant: TestTenant;
let hook = 0;
let deliveryId = 0;

beforeAll(async () => {
  test = await createTestDatabase();
  tenant = await createTestTenant(test.database, 'Switched');
}, 60_000);
afterAll(() => test.drop());
beforeEach(async () => {
  await test.database.pool.query('truncate webhook_queue');
  hook = (await addWebhook(test.database, tenant, URL, ['email.sent'])).id;
  await publishSent(test.database, tenant, [1]);
  deliveryId = (await delivery()).id;
});

async function delivery() {
  const [row] = await deliveriesOf(test.database, hook);
  if (!row) throw new Error('no delivery');
  return row;
}

/** Claims the delivery for its first attempt, like a sender does. */
async function claimed(): Promise<WebhookDelivery> {
  const { pool } = test.database;
  const process = await pool.query<{ id: number }>(
    `insert into processes (role, host, pid) values ('sender', 'h', 1) returning id`,
  );
  const owner = process.rows[0]?.id ?? 0;
  const claim = await claimDeliveries(pool, {
    owner,
    after: hook - 1,
    endpoints: 1,
    quantum: 1,
    quotas: new Map(),
  });
  return onlyOne(claim.deliveries);
}

/** Finds the delivery for a retry, like the recovery does. */
async function dueRetry(): Promise<WebhookDelivery> {
  return onlyOne(await findDueRetries(test.database.pool, hook, new Date(Date.now() + HOUR_MS), 1));
}

function onlyOne([due]: WebhookDelivery[]): WebhookDelivery {
  if (!due) throw new Error('nothing to attempt');
  return due;
}

function outcome(delivered: boolean): AttemptOutcome {
  const responseCode = delivered ? 200 : 500;
  const error = delivered ? null : 'status 500';
  const times = { startedAt: new Date(), durationMs: 1, timedOut: false, retryAfterSeconds: null };
  return { ...times, delivered, responseCode, error, excerpt: null };
}

async function record(due: WebhookDelivery, delivered = false): Promise<void> {
  if (due.data === null) throw new Error('no event');
  await recordAttempts(
    test.database.pool,
    { made: [{ due, url: URL, outcome: outcome(delivered) }], dropped: [] },
    rules,
  );
}

const drop = (due: WebhookDelivery, reason: DroppedDelivery['reason']) =>
  recordAttempts(test.database.pool, { made: [], dropped: [{ due, reason }] }, rules);

async function offAndOn(): Promise<void> {
  const manager = createTestManager(test.database);
  await manager.change(keyHolderOf(tenant), hook, { enabled: false });
  await manager.change(keyHolderOf(tenant), hook, { enabled: true });
}

function retry() {
  const deliveries = createWebhookDeliveries({ pool: test.database.pool });
  return inTransaction(test.database.pool, (trx) =>
    deliveries.retry(trx, keyHolderOf(tenant), hook, deliveryId),
  );
}

async function attempts(): Promise<[number, string | null][]> {
  const { rows } = await test.database.pool.query<{ attempt: number; error: string | null }>(
    'select attempt, error from webhook_attempts where delivery_id = $1 order by attempt',
    [deliveryId],
  );
  return rows.map(({ attempt, error }) => [attempt, error]);
}

/** The delivery has failed once, and the webhook is switched off and on during the retry. */
async function retryInFlight(): Promise<WebhookDelivery> {
  await record(await claimed());
  const due = await dueRetry();
  await offAndOn();
  return due;
}

describe('an attempt that fails after its webhook was switched off and on', () => {
  it('ends its delivery', async () => {
    await record(await retryInFlight());
    expect(await delivery()).toMatchObject({ status: 'failed', last_error: 'webhook_off', attempt_count: 2 });
  });

  it('leaves the delivery to a retry that was requested since, and appears in the history', async () => {
    const former = await retryInFlight();
    await retry();
    const asked = await delivery();
    await record(former);
    expect(await delivery()).toEqual({ ...asked, attempt_count: 2 });
    expect(await attempts()).toEqual([
      [1, 'status 500'],
      [2, 'status 500'],
    ]);
    const due = await dueRetry();
    expect(due.attempt).toBe(3);
    await record(due, true);
    expect(await delivery()).toMatchObject({ status: 'delivered', last_error: null, attempt_count: 3 });
    expect(await attempts()).toHaveLength(3);
  });

  it('leaves the delivery to that retry even if it is recorded twice', async () => {
    const former = await retryInFlight();
    await retry();
    await record(former);
    await record(former);
    expect(await delivery()).toMatchObject({ status: 'retrying', attempt_count: 2 });
    expect(await attempts()).toHaveLength(2);
  });

  it('does not change the outcome of that retry if it is recorded later', async () => {
    const former = await retryInFlight();
    await retry();
    await record(await dueRetry());
    const retried = await delivery();
    await record(former);
    expect(retried).toMatchObject({ status: 'retrying', last_error: 'status 500' });
    expect(await delivery()).toEqual(retried);
  });
});

it('counts an attempt that succeeds after the switch, even if a retry was requested since', async () => {
  const former = await retryInFlight();
  await retry();
  await record(former, true);
  expect(await delivery()).toMatchObject({ status: 'delivered', response_code: 200 });
});

it('keeps a retry that was requested after the switch if a claim from before it is dropped', async () => {
  const claim = await claimed();
  await offAndOn();
  // Another process drops the delivery first: it claimed it after the reaper had declared this sender dead.
  await drop(claim, 'webhook_off');
  expect(await delivery()).toMatchObject({ status: 'failed', last_error: 'webhook_off' });
  await retry();
  await drop(claim, 'webhook_off');
  expect(await delivery()).toMatchObject({ status: 'retrying' });
});
