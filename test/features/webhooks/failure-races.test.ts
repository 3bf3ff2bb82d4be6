import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { exactTime, type DueDelivery } from '../../../src/features/webhooks/attempts/attempt.ts';
import { recordAttempts } from '../../../src/features/webhooks/attempts/record.ts';
import { planRecovery } from '../../../src/features/webhooks/recovery/plan.ts';
import type { WebhookManager } from '../../../src/features/webhooks/service.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
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

async function pending(webhookId: number): Promise<DueDelivery[]> {
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

/** A webhook that failed three days ago and has failed lately; and an hour, which comes after that. */
async function failingWebhook(now: Date): Promise<number> {
  const { id } = await addWebhook(test.database, tenant, 'https://127.0.0.1/hook');
  const since = new Date(now.getTime() - 72 * HOUR - 1_000);
  await test.database.pool.query(
    'update webhooks set failing_since = $2, warned_at = $2, last_failure_at = $3, recovery_armed = true where id = $1',
    [id, since, new Date(now.getTime() - HOUR)],
  );
  return id;
}

async function clean(id: number): Promise<void> {
  await test.database.pool.query('delete from webhooks where id = $1', [id]);
  await test.database.pool.query(`delete from events; delete from messages; delete from webhook_queue`);
}

describe('at the end of three days', () => {
  it('a success wins where it is recorded before, and a webhook that is off has one event and one mail', async () => {
    const outcomes = { on: 0, off: 0 };
    for (let n = 0; n < TIMES; n += 1) {
      const now = new Date();
      const id = await failingWebhook(now);
      const other = await addWebhook(test.database, tenant, 'https://127.0.0.1/o', ['webhook.disabled']);
      const due = await pending(id);
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
      await clean(id);
      await clean(other.id);
    }
    expect(outcomes.on).toBeGreaterThan(0);
    expect(outcomes.off).toBeGreaterThan(0);
  }, 60_000);

  it('a success that is committed is never turned off', async () => {
    const now = new Date();
    const id = await failingWebhook(now);
    await record(await pending(id), true, now);
    expect(await plan(id, now)).toMatchObject({ phase: 'done', failingSince: null });
    expect(await rowOf(test.database, id)).toMatchObject({ enabled: true, warned_at: null });
  });

  it('timer and failed attempts together turn it off once', async () => {
    for (let n = 0; n < TIMES / 2; n += 1) {
      const now = new Date();
      const id = await failingWebhook(now);
      const [one, two] = [await pending(id), await pending(id)];
      const last = two.filter((each) => each.deliveryId !== one[0]?.deliveryId);
      await Promise.all([record(one, false, now), plan(id, now), record(last, false, now), plan(id, now)]);
      expect(await rowOf(test.database, id)).toMatchObject({ enabled: false, generation: 2 });
      expect(await mails()).toBe(1);
      await clean(id);
    }
  }, 60_000);

  it('two timers warn once', async () => {
    for (let n = 0; n < 20; n += 1) {
      const now = new Date();
      const id = await failingWebhook(now);
      await test.database.pool.query(
        `update webhooks set failing_since = now() - interval '30 hours', warned_at = null where id = $1`,
        [id],
      );
      await Promise.all([plan(id, now), plan(id, now), plan(id, now)]);
      expect(await mails()).toBe(1);
      await clean(id);
    }
  }, 60_000);
});

describe('a webhook that is removed', () => {
  let manager: WebhookManager;
  let owner: Parameters<WebhookManager['remove']>[0];
  beforeEach(() => {
    manager = createTestManager(test.database);
    owner = keyHolderOf(tenant);
  });

  it('while attempts are recorded leaves nothing of its history', async () => {
    for (let n = 0; n < TIMES; n += 1) {
      const { id } = await addWebhook(test.database, tenant, 'https://127.0.0.1/hook');
      // A healthy one's successes do not lock it.
      await test.database.pool.query('update webhooks set last_success_at = now() where id = $1', [id]);
      const due = await pending(id);
      await Promise.all([
        sleep(n % 4).then(() => record(due, n % 2 === 0, new Date())),
        manager.remove(owner, id),
      ]);
    }
    expect(await count('webhook_deliveries')).toBe(0);
    expect(await count('webhook_attempts')).toBe(0);
    expect(await count('webhooks')).toBe(0);
  }, 60_000);

  it('is removed also where its history cannot be, which housekeeping does later', async () => {
    const { pool } = test.database;
    const { id } = await addWebhook(test.database, tenant, 'https://127.0.0.1/hook');
    await pending(id);
    await pool.query('alter table webhook_attempts rename to away');
    try {
      expect(await manager.remove(owner, id)).toMatchObject({ id });
    } finally {
      await pool.query('alter table away rename to webhook_attempts');
    }
    expect(await count('webhooks')).toBe(0);
    expect(await count('webhook_deliveries')).toBe(1);
  });
});
