// The recovery follows a webhook that is turned off, moved, rotated or removed, and makes no outdated attempts.
import type { ServerResponse } from 'node:http';
import { expect, it } from '@jest/globals';
import type { WebhookManager } from '../../../src/features/webhooks/service.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import type { WebhookRecoveryState } from '../../../workflows/webhooks/contract.ts';
import { eventually } from '../../support/eventually.ts';
import { startReceiver, type Receiver } from '../../support/https-receiver.ts';
import { startRecoveryStage, type RecoveryStage } from '../../support/recovery-stage.ts';
import { testsThatNeed } from '../../support/tests-that-need.ts';
import {
  addWebhook,
  createTestManager,
  keyHolderOf,
  deliveriesOf,
  publishSent,
  rowOf,
} from '../../support/webhooks.ts';

const { afterAll, afterEach, beforeAll, beforeEach, describe } = testsThatNeed('time-skipping server');

const schedule = [60, 300, 1_800];

let stage: RecoveryStage;
let receiver: Receiver;
let manager: WebhookManager;
let owner: Parameters<WebhookManager['remove']>[0];

beforeAll(async () => {
  stage = await startRecoveryStage(schedule);
  const { tenant, test, waker } = stage;
  manager = createTestManager(test.database, waker);
  owner = keyHolderOf(tenant);
}, 120_000);
afterAll(() => stage.stop());
beforeEach(async () => {
  receiver = await startReceiver();
  receiver.answer = (_request, response) => void response.writeHead(500).end();
});
afterEach(async () => {
  await receiver.close();
  const { rows } = await query<{ id: number }>('select id from webhooks');
  for (const { id } of rows) {
    await stage
      .handle(id)
      .terminate()
      .catch(() => undefined);
  }
  await query(
    'delete from webhooks; delete from webhook_deliveries; delete from webhook_attempts; delete from webhook_queue; delete from outbox',
  );
});

function query<Row extends Record<string, unknown>>(sql: string, values: unknown[] = []) {
  return stage.test.database.pool.query<Row>(sql, values);
}

/** Creates a webhook whose recovery sleeps until the first retry of its only event. */
async function createSleeping(): Promise<number> {
  const { id } = await addWebhook(stage.test.database, stage.tenant, receiver.url('/hook', '127.0.0.1'));
  await stage.attempt(id, false);
  await stage.asleep(id);
  return id;
}

async function workflowEnded(id: number): Promise<void> {
  await eventually(async () => {
    expect((await stage.handle(id).describe()).status.name).toBe('COMPLETED');
  });
}

/** Leaves requests without a response until the test ends it. */
function holdResponses(): ServerResponse[] {
  const held: ServerResponse[] = [];
  receiver.answer = (_request, response) => void held.push(response);
  return held;
}

/** Skips time until an attempt waits for its response. */
async function attemptInFlight(held: ServerResponse[]): Promise<ServerResponse> {
  await stage.env.sleep(60_100);
  return eventually(() => {
    const [response] = held;
    if (!response) throw new Error('no attempt yet');
    return response;
  });
}

describe('the recovery of a webhook that changes', () => {
  it('ends with its waiting retries when the webhook is turned off', async () => {
    const id = await createSleeping();
    await manager.change(owner, id, { enabled: false });
    await workflowEnded(id);
    expect(await deliveriesOf(stage.test.database, id)).toMatchObject([
      { status: 'failed', last_error: 'webhook_off', attempt_count: 1, next_attempt_at: null },
    ]);
    expect(await rowOf(stage.test.database, id)).toMatchObject({ recovery_armed: false, next_wake_at: null });
    expect(receiver.requests).toHaveLength(0);
  }, 180_000);

  it('retries new events after the webhook was off, but never the former ones', async () => {
    const id = await createSleeping();
    await manager.change(owner, id, { enabled: false });
    await manager.change(owner, id, { enabled: true });
    await workflowEnded(id);
    await stage.attempt(id, false);
    expect(await stage.asleep(id)).toMatchObject({ retrying: 1 });
    receiver.answer = (_request, response) => void response.end();
    await stage.handle(id).result();
    expect((await deliveriesOf(stage.test.database, id)).map((each) => each.status)).toEqual([
      'failed',
      'delivered',
    ]);
    expect(receiver.requests).toHaveLength(1);
  }, 180_000);

  it.each([
    [500, 'failed', 'webhook_off'],
    [200, 'delivered', null],
  ])(
    'records an attempt in flight while the webhook is turned off and on, with status %i, as %s and begins no failure',
    async (status, state, error) => {
      const id = await createSleeping();
      const response = await attemptInFlight(holdResponses());
      await manager.change(owner, id, { enabled: false });
      await manager.change(owner, id, { enabled: true });
      response.writeHead(status).end();
      await workflowEnded(id);
      expect(await deliveriesOf(stage.test.database, id)).toMatchObject([
        { status: state, last_error: error },
      ]);
      expect(await rowOf(stage.test.database, id)).toMatchObject({ failing_since: null, enabled: true });
    },
    60_000,
  );

  it('sends retries to a new url and forgets the failures of the former one', async () => {
    const id = await createSleeping();
    const next = await startReceiver();
    await manager.change(owner, id, { url: next.url('/new', '127.0.0.1') });
    expect(await stage.asleep(id)).toMatchObject({ failingSince: null, retrying: 1, disableAt: null });
    await stage.handle(id).result();
    expect(await deliveriesOf(stage.test.database, id)).toMatchObject([{ status: 'delivered' }]);
    expect(receiver.requests).toHaveLength(0);
    expect(next.requests).toHaveLength(1);
    await next.close();
  }, 180_000);

  it('retries at the new url, without counting a failure, when an attempt at the former url fails late', async () => {
    const id = await createSleeping();
    const response = await attemptInFlight(holdResponses());
    const next = await startReceiver();
    await manager.change(owner, id, { url: next.url('/new', '127.0.0.1') });
    response.writeHead(500).end();
    expect(await stage.asleep(id)).toMatchObject({ failingSince: null, retrying: 1, disableAt: null });
    expect(await rowOf(stage.test.database, id)).toMatchObject({
      failing_since: null,
      last_failure_at: null,
    });
    await stage.handle(id).result();
    expect(await deliveriesOf(stage.test.database, id)).toMatchObject([
      { status: 'delivered', attempt_count: 3 },
    ]);
    expect(next.requests).toHaveLength(1);
    await next.close();
  }, 180_000);

  it('begins even if only a first attempt at a former url failed', async () => {
    const { id } = await addWebhook(stage.test.database, stage.tenant, receiver.url('/hook', '127.0.0.1'));
    await stage.attempt(id, false, { url: 'https://127.0.0.1/before' });
    expect(await stage.asleep(id)).toMatchObject({ failingSince: null, retrying: 1 });
  }, 180_000);

  it('signs the next attempt with both secrets after a rotation', async () => {
    const id = await createSleeping();
    await inTransaction(stage.test.database.pool, (trx) => manager.rotateSecret(trx, owner, id));
    receiver.answer = (_request, response) => void response.end();
    await stage.handle(id).result();
    expect(String(receiver.requests[0]?.headers['webhook-signature']).split(' ')).toHaveLength(2);
  }, 180_000);

  it('ends when the webhook is removed, and leaves no history', async () => {
    const id = await createSleeping();
    await manager.remove(owner, id);
    await workflowEnded(id);
    expect(await deliveriesOf(stage.test.database, id)).toEqual([]);
    expect((await query('select 1 from webhook_attempts')).rowCount).toBe(0);
    expect(receiver.requests).toHaveLength(0);
  }, 180_000);

  it.each([200, 500])(
    'ends without history when the webhook is removed during an attempt that gets status %i',
    async (status) => {
      const id = await createSleeping();
      const response = await attemptInFlight(holdResponses());
      await manager.remove(owner, id);
      response.writeHead(status).end();
      await workflowEnded(id);
      expect(await deliveriesOf(stage.test.database, id)).toEqual([]);
      expect((await query('select 1 from webhook_attempts')).rowCount).toBe(0);
    },
    60_000,
  );
});

/** Creates a webhook with deliveries that wait for retries, due one after another. */
async function createWaiting(count: number, apartMs: number, firstInMs: number): Promise<number> {
  const { id } = await addWebhook(stage.test.database, stage.tenant, receiver.url('/hook', '127.0.0.1'));
  const messages = Array.from({ length: count - 1 }, (_each, index) => index + 2);
  await publishSent(stage.test.database, stage.tenant, messages);
  const begun = await stage.attempt(id, false);
  await query(
    `update webhook_deliveries d set next_attempt_at = $2::timestamptz + make_interval(secs => ($3 + n.n * $4) / 1000.0)
     from (select id, row_number() over (order by id) - 1 as n from webhook_deliveries where webhook_id = $1) n
     where d.id = n.id`,
    [id, begun, firstInMs, apartMs],
  );
  await eventually(() => stage.handle(id).signal('wake'));
  return id;
}

async function historyOf(id: number): Promise<number> {
  return (await stage.handle(id).fetchHistory()).events?.length ?? 0;
}

describe('the recovery of a webhook with many retries', () => {
  it('costs far less than one event of history per failed attempt, even if all are due at different times', async () => {
    const id = await createWaiting(300, 10, 300);
    await eventually(async () => {
      const rows = await deliveriesOf(stage.test.database, id);
      expect(rows.filter((row) => row.attempt_count === 2)).toHaveLength(300);
    }, 120_000);
    expect(await historyOf(id)).toBeLessThan(300 / 4);
  }, 180_000);

  it('attempts all waiting retries at once on a signal, even while it is making attempts', async () => {
    // Two are due per second, for minutes, so the activity keeps working.
    const id = await createWaiting(300, 500, 100);
    await eventually(() => expect(receiver.requests.length).toBeGreaterThan(1));
    const state = await stage.handle(id).query<WebhookRecoveryState>('state');
    expect(state.phase).toBe('delivering');
    await stage.handle(id).signal('retryNow');
    await eventually(async () => {
      const rows = await deliveriesOf(stage.test.database, id);
      expect(rows.filter((row) => row.attempt_count >= 2)).toHaveLength(300);
    }, 180_000);
  }, 120_000);
});
