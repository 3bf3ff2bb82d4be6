// No event that is committed after a webhook is confirmed off is sent, and none stays in the queue.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { createWebhookManager, type WebhookManager } from '../../../src/features/webhooks/service.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createTestTenant, type TestTenant } from '../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { testEvents } from '../../support/events.ts';
import { eventually } from '../../support/eventually.ts';
import { startReceiver, type ReceivedRequest, type Receiver } from '../../support/https-receiver.ts';
import {
  addWebhook,
  sentEvent,
  startWebhookLoop,
  testKeyring,
  type RunningLoop,
} from '../../support/webhooks.ts';

const LANES = 20;
const ROUNDS = 50;
/**
 * Pauses before the event's commit and before the switch. Every second event waits long, so that slow switches win,
 * too.
 */
const BRIEF_MS = 6;
const LONG_MS = 40;

/** An event that was published while its webhook was being switched off. */
interface Race {
  messageId: number;
  /** Whether its COMMIT was sent after the switch had been confirmed. */
  tooLate: boolean;
  /** When the switch was confirmed. */
  offAt: number;
}

let test: TestDatabase;
let receiver: Receiver;
let running: RunningLoop;
let manager: WebhookManager;
const races: Race[] = [];
/** When the loop began to read the endpoint for an event, by message. */
const readAt = new Map<number, number>();
let publishedWhileOff = 0;

function ownerOf(tenant: TestTenant) {
  const actor = { kind: 'api_key' as const, id: tenant.apiKeyId, test: false };
  return { accountId: tenant.accountId, brandId: tenant.brandId, actor, role: 'admin' as const };
}

/** @returns the number of deliveries, and when the COMMIT was about to be sent */
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
  races.push({ messageId, tooLate: published.commitAt > offAt, offAt });
  publishedWhileOff += (await publish(tenant, -messageId, 0)).deliveries;
  await manager.change(ownerOf(tenant), id, { enabled: true });
}

/** Fills {@link readAt}: after each claim, the loop reads the endpoints of what it has claimed. */
function noteReads(): void {
  const { pool } = test.database;
  const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<{ rows: { data: string | null }[] }>;
  let claimed: number[] = [];
  pool.query = (async (statement: { name?: string }, ...rest: unknown[]) => {
    if (statement.name === 'read_endpoints') for (const id of claimed) readAt.set(id, performance.now());
    const result = await query(statement, ...rest);
    if (statement.name === 'claim_webhook_deliveries') {
      claimed = result.rows.flatMap(({ data }) => (data === null ? [] : [JSON.parse(data).message_id]));
    }
    return result;
  }) as typeof pool.query;
}

const messageOf = ({ body }: ReceivedRequest): number => JSON.parse(body).data.message_id;

beforeAll(async () => {
  test = await createTestDatabase({ poolMax: 2 * LANES + 5 });
  noteReads();
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
}, 300_000);

afterAll(async () => {
  await running.stop();
  await receiver.close();
  await test.drop();
});

describe('a thousand events, each published while its webhook is switched off', () => {
  it('leave no queue row behind: each is delivered or ends with the switch', async () => {
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
    // Otherwise, the test would prove nothing.
    for (const { count } of rows) expect(count).toBeGreaterThan(LANES);
  });

  it('are not sent if they were committed after the switch was confirmed', () => {
    const received = new Set(receiver.requests.map(messageOf));
    const late = races.filter(({ tooLate }) => tooLate);
    expect(late.length).toBeGreaterThan(LANES);
    expect(late.filter(({ messageId }) => received.has(messageId))).toEqual([]);
  });

  it('are sent only if the endpoint was read before the switch was confirmed, even if it is on again', () => {
    const offAt = new Map(races.map((each) => [each.messageId, each.offAt]));
    const sent = receiver.requests.map(messageOf);
    expect(sent.filter((id) => !readAt.has(id) || !offAt.has(id))).toEqual([]);
    expect(sent.filter((id) => (readAt.get(id) ?? 0) > (offAt.get(id) ?? 0))).toEqual([]);
  });

  it('get no delivery if they occur while it is off', () => {
    expect(publishedWhileOff).toBe(0);
  });
});
