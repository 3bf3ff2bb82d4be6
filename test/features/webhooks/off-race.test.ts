import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { createWebhookManager, type WebhookManager } from '../../../src/features/webhooks/service.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createTestTenant, type TestTenant } from '../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { testEvents } from '../../support/events.ts';
import { eventually } from '../../support/eventually.ts';
import { startReceiver, type Receiver } from '../../support/https-receiver.ts';
import {
  addWebhook,
  sentEvent,
  startWebhookLoop,
  testKeyring,
  type RunningLoop,
} from '../../support/webhooks.ts';

const LANES = 10;
const ROUNDS = 100;
/** Waits before the event's commit and before the switch; every second event's is long, for switches of a busy machine. */
const BRIEF_MS = 6;
const LONG_MS = 40;
/** A claim is used for this long, with the webhook as it was read with it; and a second for a busy machine. */
const CLAIM_MS = 1_000 + 1_000;

/** An event that was published while its webhook was being switched off. */
interface Race {
  messageId: number;
  /** Whether its transaction ended after the switch was answered. */
  tooLate: boolean;
  offAt: number;
}

let test: TestDatabase;
let receiver: Receiver;
let running: RunningLoop;
let manager: WebhookManager;
const races: Race[] = [];
let publishedWhileOff = 0;

function ownerOf(tenant: TestTenant) {
  const actor = { kind: 'api_key' as const, id: tenant.apiKeyId, test: false };
  return { accountId: tenant.accountId, brandId: tenant.brandId, actor, role: 'admin' as const };
}

/** @returns when its COMMIT was about to be sent, and its deliveries */
async function publish(tenant: TestTenant, messageId: number, waitMs: number) {
  const published = await inTransaction(test.database.pool, async (trx) => {
    const deliveries = (await testEvents.publish(trx, [sentEvent(tenant, messageId)])).get('webhook') ?? 0;
    await delay(waitMs);
    return { deliveries, commitAt: performance.now() };
  });
  running.waker.wake('webhook');
  return published;
}

async function switchOff(tenant: TestTenant, id: number, waitMs: number): Promise<number> {
  await delay(waitMs);
  await manager.change(ownerOf(tenant), id, { enabled: false });
  return performance.now();
}

async function race(tenant: TestTenant, id: number, messageId: number): Promise<void> {
  const [published, offAt] = await Promise.all([
    publish(tenant, messageId, Math.random() * (messageId % 2 ? BRIEF_MS : LONG_MS)),
    switchOff(tenant, id, Math.random() * BRIEF_MS),
  ]);
  races.push({ messageId, tooLate: published.commitAt > offAt, offAt: offAt + performance.timeOrigin });
  publishedWhileOff += (await publish(tenant, -messageId, 0)).deliveries;
  await manager.change(ownerOf(tenant), id, { enabled: true });
}

beforeAll(async () => {
  test = await createTestDatabase({ poolMax: 2 * LANES + 5 });
  receiver = await startReceiver();
  running = await startWebhookLoop(test.database);
  manager = createWebhookManager({
    pool: test.database.pool,
    keyring: testKeyring,
    egress: { checkUrl: async () => ({ ok: true }) },
    waker: running.waker,
    log: pino({ level: 'silent' }),
  });
  await Promise.all(
    Array.from({ length: LANES }, async (_each, lane) => {
      const tenant = await createTestTenant(test.database, `Lane ${lane}`);
      const { id } = await addWebhook(test.database, tenant, receiver.url('/hook', '127.0.0.1'));
      for (let round = 1; round <= ROUNDS; round += 1) await race(tenant, id, lane * ROUNDS + round);
    }),
  );
}, 150_000);

afterAll(async () => {
  await running.stop();
  await receiver.close();
  await test.drop();
});

describe('an event and an off at the same moment, a thousand times', () => {
  it('leave no row behind: each event was delivered, or ended with the switch', async () => {
    await eventually(async () => {
      const { rowCount } = await test.database.pool.query('select 1 from webhook_queue');
      expect(rowCount).toBe(0);
    });
    const { rows } = await test.database.pool.query<{ status: string; error: string | null; count: number }>(
      `select status, last_error as error, count(*) from webhook_deliveries group by 1, 2 order by 1`,
    );
    expect(races).toHaveLength(LANES * ROUNDS);
    expect(rows).toEqual([
      { status: 'delivered', error: null, count: expect.any(Number) },
      { status: 'failed', error: 'webhook_off', count: expect.any(Number) },
    ]);
    // Else nothing raced.
    for (const { count } of rows) expect(count).toBeGreaterThan(LANES);
  });

  it('send nothing that was committed after the switch was answered', () => {
    const received = new Set(receiver.requests.map(({ body }) => JSON.parse(body).data.message_id as number));
    const late = races.filter(({ tooLate }) => tooLate);
    expect(late.length).toBeGreaterThan(LANES);
    expect(late.filter(({ messageId }) => received.has(messageId))).toEqual([]);
  });

  it('send nothing long after the switch, not even once it is on again', () => {
    const offAt = new Map(races.map((each) => [each.messageId, each.offAt]));
    const after = receiver.requests.map(
      ({ at, body }) => at - (offAt.get(JSON.parse(body).data.message_id as number) ?? 0),
    );
    expect(Math.max(...after)).toBeLessThan(CLAIM_MS);
  });

  it('write nothing for an event that occurs while it is off', () => {
    expect(publishedWhileOff).toBe(0);
  });
});
