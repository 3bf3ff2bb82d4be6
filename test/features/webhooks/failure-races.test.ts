// Races between attempts, timers and removal never warn twice, turn off a recovered webhook, or leave history.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { DueDelivery } from '../../../src/features/webhooks/attempts/attempt.ts';
import { recordAttempts } from '../../../src/features/webhooks/attempts/record.ts';
import { planRecovery } from '../../../src/features/webhooks/recovery/plan.ts';
import type { WebhookManager } from '../../../src/features/webhooks/service.ts';
import { exactTime, inTransaction } from '../../../src/platform/db/queryable.ts';
import { createTestTenant, type TestTenant } from '../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { testEvents } from '../../support/events.ts';
import { addWebhook, createTestManager, keyHolderOf, publishSent, rowOf } from '../../support/webhooks.ts';

const TIMES = 100;
const HOUR = 3_600_000;
const from = 'carillon@carillon.test';
const rules = { schedule: [60], systemFrom: from, events: testEvents };

let test: TestDatabase;
let tenant: TestTenant;

beforeAll(async () => {
  test = await createTestDatabase({ poolMax: 8 });
  tenant = await createTestTenant(test.database, 'Racing');
});
afterAll(() => test.drop());
beforeEach(() =>
  test.database.pool.query(
    'delete from webhooks; delete from webhook_deliveries; delete from webhook_attempts; delete from messages',
  ),
);

async function publishPending(webhookId: number): Promise<DueDelivery[]> {
  await publishSent(test.database, tenant, [1]);
  const { rows } = await test.database.pool.query<DueDelivery>(
    `select d.id as "deliveryId", ${exactTime('d.created_at')} as "createdAt", d.webhook_id as "webhookId",
       d.generation, 1 as attempt, d.event_id as "eventId", d.type, now() as "occurredAt", '{}' as data
     from webhook_deliveries d where d.webhook_id = $1 and d.status = 'pending'`,
    [webhookId],
  );
  return rows;
}

function record(due: readonly DueDelivery[], delivered: boolean, startedAt: Date) {
  const outcome = {
    delivered,
    startedAt,
    durationMs: 1,
    timedOut: false,
    responseCode: delivered ? 200 : 500,
    error: delivered ? null : 'status 500',
    excerpt: null,
    retryAfterSeconds: null,
  };
  const made = due.map((each) => ({ due: each, url: 'https://127.0.0.1/hook', outcome }));
  return recordAttempts(test.database.pool, { made, dropped: [] }, rules);
}

const plan = (webhookId: number, asOf: Date) =>
  inTransaction(test.database.pool, (trx) =>
    planRecovery(trx, { webhookId, asOf, from, events: testEvents }),
  );

async function count(sql: string): Promise<number> {
  const { rows } = await test.database.pool.query<{ count: number }>(
    `select count(*)::int as count from ${sql}`,
  );
  return rows[0]?.count ?? -1;
}

const mails = () => count('messages where account_id = 0');

/** Creates a webhook that has been failing for three days and last failed an hour ago. */
async function createFailingWebhook(now: Date): Promise<number> {
  const { id } = await addWebhook(test.database, tenant, 'https://127.0.0.1/hook');
  const since = new Date(now.getTime() - 72 * HOUR - 1_000);
  await test.database.pool.query(
    'update webhooks set failing_since = $2, warned_at = $2, last_failure_at = $3, recovery_armed = true where id = $1',
    [id, since, new Date(now.getTime() - HOUR)],
  );
  return id;
}

async function removeAll(id: number): Promise<void> {
  await test.database.pool.query('delete from webhooks where id = $1', [id]);
  await test.database.pool.query(`delete from events; delete from messages; delete from webhook_queue`);
}

describe('three days of failure', () => {
  it('end with the webhook on, or with it off, one event and one mail, if a success races with the timer', async () => {
    const outcomes = { on: 0, off: 0 };
    for (let n = 0; n < TIMES; n += 1) {
      const now = new Date();
      const id = await createFailingWebhook(now);
      const other = await addWebhook(test.database, tenant, 'https://127.0.0.1/o', ['webhook.disabled']);
      const due = await publishPending(id);
      const success = sleep(n % 3).then(() => record(due, true, now));
      const timer = sleep((n + 1) % 3).then(() => plan(id, now));
      await Promise.all([success, timer]);
      const { enabled } = (await rowOf<{ enabled: boolean }>(test.database, id)) ?? {};
      outcomes[enabled ? 'on' : 'off'] += 1;
      expect(await count(`events where type = 'webhook.disabled'`)).toBe(enabled ? 0 : 1);
      expect(await mails()).toBe(enabled ? 0 : 1);
      expect(await count(`webhooks where id = ${id} and enabled and failing_since is null`)).toBe(
        enabled ? 1 : 0,
      );
      await removeAll(id);
      await removeAll(other.id);
    }
    expect(outcomes.on).toBeGreaterThan(0);
    expect(outcomes.off).toBeGreaterThan(0);
  }, 60_000);

  it('never turn a webhook off after a recorded success', async () => {
    const now = new Date();
    const id = await createFailingWebhook(now);
    await record(await publishPending(id), true, now);
    expect(await plan(id, now)).toMatchObject({ phase: 'done', failingSince: null });
    expect(await rowOf(test.database, id)).toMatchObject({ enabled: true, warned_at: null });
  });

  it('turn a webhook off once if failed attempts race with the timer', async () => {
    for (let n = 0; n < TIMES / 2; n += 1) {
      const now = new Date();
      const id = await createFailingWebhook(now);
      const [first, both] = [await publishPending(id), await publishPending(id)];
      const second = both.filter((each) => each.deliveryId !== first[0]?.deliveryId);
      await Promise.all([
        record(first, false, now),
        plan(id, now),
        record(second, false, now),
        plan(id, now),
      ]);
      expect(await rowOf(test.database, id)).toMatchObject({ enabled: false, generation: 2 });
      expect(await mails()).toBe(1);
      await removeAll(id);
    }
  }, 60_000);

  it('warn once if timers race', async () => {
    for (let n = 0; n < 20; n += 1) {
      const now = new Date();
      const id = await createFailingWebhook(now);
      await test.database.pool.query(
        `update webhooks set failing_since = now() - interval '30 hours', warned_at = null where id = $1`,
        [id],
      );
      await Promise.all([plan(id, now), plan(id, now), plan(id, now)]);
      expect(await mails()).toBe(1);
      await removeAll(id);
    }
  }, 60_000);
});

describe('removing a webhook', () => {
  let manager: WebhookManager;
  let owner: Parameters<WebhookManager['remove']>[0];
  beforeEach(() => {
    manager = createTestManager(test.database);
    owner = keyHolderOf(tenant);
  });

  it('leaves no history, even if attempts are being recorded', async () => {
    for (let n = 0; n < TIMES; n += 1) {
      const { id } = await addWebhook(test.database, tenant, 'https://127.0.0.1/hook');
      // A recent success keeps the next one from locking the webhook.
      await test.database.pool.query('update webhooks set last_success_at = now() where id = $1', [id]);
      const due = await publishPending(id);
      await Promise.all([
        sleep(n % 4).then(() => record(due, n % 2 === 0, new Date())),
        manager.remove(owner, id),
      ]);
    }
    expect(await count('webhook_deliveries')).toBe(0);
    expect(await count('webhook_attempts')).toBe(0);
    expect(await count('webhooks')).toBe(0);
  }, 60_000);

  it('succeeds even if its history cannot be removed, which housekeeping does later', async () => {
    const { pool } = test.database;
    const { id } = await addWebhook(test.database, tenant, 'https://127.0.0.1/hook');
    await publishPending(id);
    await pool.query('alter table webhook_attempts rename to hidden_attempts');
    try {
      expect(await manager.remove(owner, id)).toMatchObject({ id });
    } finally {
      await pool.query('alter table hidden_attempts rename to webhook_attempts');
    }
    expect(await count('webhooks')).toBe(0);
    expect(await count('webhook_deliveries')).toBe(1);
  });
});
