// No event that is committed after a webhook is confirmed off is sent, and none stays in the queue: each order is forced.
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { WebhookManager } from '../../../src/features/webhooks/service.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createTestTenant, type TestTenant } from '../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { testEvents } from '../../support/events.ts';
import { eventually } from '../../support/eventually.ts';
import { startReceiver, type Receiver } from '../../support/https-receiver.ts';
import {
  addWebhook,
  createTestManager,
  keyHolderOf,
  publishSent,
  sentEvent,
  startWebhookLoop,
  type RunningLoop,
} from '../../support/webhooks.ts';

const MESSAGE = 7;

/** Where the loop waits: before or after it has read whether the endpoints of a claim are on. */
interface Gate {
  side: 'before' | 'after';
  reached: PromiseWithResolvers<void>;
  opened: PromiseWithResolvers<void>;
}

let test: TestDatabase;
let receiver: Receiver;
let running: RunningLoop;
let manager: WebhookManager;
let gate: Gate | null = null;

/** Lets the next reading of endpoints wait. */
function closeGate(side: Gate['side']): Gate {
  gate = { side, reached: Promise.withResolvers(), opened: Promise.withResolvers() };
  return gate;
}

async function pass(side: Gate['side']): Promise<void> {
  const closed = gate;
  if (closed?.side !== side) return;
  gate = null;
  closed.reached.resolve();
  await closed.opened.promise;
}

function watchReads(): void {
  const { pool } = test.database;
  const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>;
  pool.query = (async (statement: { name?: string }, ...rest: unknown[]) => {
    if (statement.name !== 'read_endpoints') return query(statement, ...rest);
    await pass('before');
    const result = await query(statement, ...rest);
    await pass('after');
    return result;
  }) as typeof pool.query;
}

async function newWebhook(): Promise<{ tenant: TestTenant; id: number }> {
  const tenant = await createTestTenant(test.database, 'Acme');
  const { id } = await addWebhook(test.database, tenant, receiver.url('/hook', '127.0.0.1'));
  return { tenant, id };
}

const turn = (tenant: TestTenant, id: number, enabled: boolean) =>
  manager.change(keyHolderOf(tenant), id, { enabled });

const publish = async (tenant: TestTenant) => {
  const queued = await publishSent(test.database, tenant, [MESSAGE]);
  running.waker.wake('webhook');
  return queued;
};

/** Waits until the queue is empty. @returns how the deliveries of the webhook ended */
async function outcomes(id: number) {
  const { pool } = test.database;
  return eventually(async () => {
    expect((await pool.query('select 1 from webhook_queue')).rowCount).toBe(0);
    const { rows } = await pool.query<{ status: string; error: string | null }>(
      'select status, last_error as error from webhook_deliveries where webhook_id = $1',
      [id],
    );
    return rows;
  });
}

const DROPPED = [{ status: 'failed', error: 'webhook_off' }];
const DELIVERED = [{ status: 'delivered', error: null }];

beforeAll(async () => {
  test = await createTestDatabase();
  watchReads();
  receiver = await startReceiver();
  running = await startWebhookLoop(test.database);
  manager = createTestManager(test.database, running.waker);
});
afterEach(() => {
  // A test that failed must not stop the loop.
  gate?.opened.resolve();
  gate = null;
  receiver.requests.length = 0;
});
afterAll(async () => {
  await running.stop();
  await receiver.close();
  await test.drop();
});

/** What happens between two steps of an event: the webhook is switched off, or off and on again. */
const switches: [what: string, ways: boolean[]][] = [
  ['is off', [false]],
  ['was off and is on again', [false, true]],
];

describe.each(switches)('an event whose webhook %s', (_what, ways) => {
  it('is not sent if it is committed afterwards', async () => {
    const { tenant, id } = await newWebhook();
    const queued = await inTransaction(test.database.pool, async (trx) => {
      const found = await testEvents.publish(trx, [sentEvent(tenant, MESSAGE)]);
      for (const enabled of ways) await turn(tenant, id, enabled);
      return found.get('webhook');
    });
    running.waker.wake('webhook');
    expect(queued).toBe(1);
    expect(await outcomes(id)).toEqual(DROPPED);
    expect(receiver.requests).toEqual([]);
  });

  it('is not sent if a sender has claimed it, and reads the endpoint afterwards', async () => {
    const { tenant, id } = await newWebhook();
    const { reached, opened } = closeGate('before');
    await publish(tenant);
    await reached.promise;
    for (const enabled of ways) await turn(tenant, id, enabled);
    opened.resolve();
    expect(await outcomes(id)).toEqual(DROPPED);
    expect(receiver.requests).toEqual([]);
  });

  it('is sent if a sender had read the endpoint before', async () => {
    const { tenant, id } = await newWebhook();
    const { reached, opened } = closeGate('after');
    await publish(tenant);
    await reached.promise;
    for (const enabled of ways) await turn(tenant, id, enabled);
    opened.resolve();
    expect(await outcomes(id)).toEqual(DELIVERED);
    expect(receiver.requests).toHaveLength(1);
  });

  it('is not tried again if that attempt fails', async () => {
    const { tenant, id } = await newWebhook();
    receiver.answer = (_request, response) => void response.writeHead(500).end();
    const { reached, opened } = closeGate('after');
    await publish(tenant);
    await reached.promise;
    for (const enabled of ways) await turn(tenant, id, enabled);
    opened.resolve();
    expect(await outcomes(id)).toMatchObject([{ status: 'failed' }]);
    expect(receiver.requests).toHaveLength(1);
    receiver.answer = (_request, response) => void response.end();
  });
});

it('gets no delivery for an event while it is off', async () => {
  const { tenant, id } = await newWebhook();
  await turn(tenant, id, false);
  expect(await publish(tenant)).toBe(0);
  await turn(tenant, id, true);
  expect(await publish(tenant)).toBe(1);
  expect(await outcomes(id)).toEqual(DELIVERED);
});
