import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
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
  const { tenant, test } = stage;
  manager = createTestManager(test.database);
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

/** A webhook whose recovery sleeps until the first retry of its one event. */
async function sleeping(): Promise<number> {
  const { id } = await addWebhook(stage.test.database, stage.tenant, receiver.url('/hook', '127.0.0.1'));
  await stage.attempt(id, false);
  await stage.asleep(id);
  return id;
}

async function ended(id: number): Promise<void> {
  await eventually(async () => {
    expect((await stage.handle(id).describe()).status.name).toBe('COMPLETED');
  });
}

/** Answers wait until the test lets them go. */
function holdAnswers(): ServerResponse[] {
  const held: ServerResponse[] = [];
  receiver.answer = (_request, response) => void held.push(response);
  return held;
}

/** Let time pass until an attempt waits for its answer. */
async function inFlight(held: ServerResponse[]): Promise<ServerResponse> {
  await stage.env.sleep('61 seconds');
  return eventually(() => {
    const [response] = held;
    if (!response) throw new Error('no attempt yet');
    return response;
  });
}

describe('a recovery', () => {
  it('ends what waits and itself where its webhook is turned off', async () => {
    const id = await sleeping();
    await manager.change(owner, id, { enabled: false });
    await ended(id);
    expect(await deliveriesOf(stage.test.database, id)).toMatchObject([
      { status: 'failed', last_error: 'webhook_off', attempt_count: 1, next_attempt_at: null },
    ]);
    expect(await rowOf(stage.test.database, id)).toMatchObject({ recovery_armed: false, next_wake_at: null });
    expect(receiver.requests).toHaveLength(0);
  }, 60_000);

  it('goes on with what happens after an off and on, and never sends what was before', async () => {
    const id = await sleeping();
    await manager.change(owner, id, { enabled: false });
    await manager.change(owner, id, { enabled: true });
    await ended(id);
    await stage.attempt(id, false);
    expect(await stage.asleep(id)).toMatchObject({ retrying: 1 });
    receiver.answer = (_request, response) => void response.end();
    await stage.handle(id).result();
    expect((await deliveriesOf(stage.test.database, id)).map((each) => each.status)).toEqual([
      'failed',
      'delivered',
    ]);
    expect(receiver.requests).toHaveLength(1);
  }, 60_000);

  it.each([
    [500, 'failed', 'webhook_off'],
    [200, 'delivered', null],
  ])(
    'counts an attempt in flight at an off for what it is: %i is %s, and starts no failure',
    async (status, state, error) => {
      const id = await sleeping();
      const response = await inFlight(holdAnswers());
      await manager.change(owner, id, { enabled: false });
      await manager.change(owner, id, { enabled: true });
      response.writeHead(status).end();
      await ended(id);
      expect(await deliveriesOf(stage.test.database, id)).toMatchObject([
        { status: state, last_error: error },
      ]);
      expect(await rowOf(stage.test.database, id)).toMatchObject({ failing_since: null, enabled: true });
    },
    60_000,
  );

  it('goes to the new address, without the failures of the old one', async () => {
    const id = await sleeping();
    const next = await startReceiver();
    await manager.change(owner, id, { url: next.url('/new', '127.0.0.1') });
    expect(await stage.asleep(id)).toMatchObject({ failingSince: null, retrying: 1, disableAt: null });
    await stage.handle(id).result();
    expect(await deliveriesOf(stage.test.database, id)).toMatchObject([{ status: 'delivered' }]);
    expect(receiver.requests).toHaveLength(0);
    expect(next.requests).toHaveLength(1);
    await next.close();
  }, 60_000);

  it('starts no failure of the new address where an attempt at the old one fails late, and retries it there', async () => {
    const id = await sleeping();
    const response = await inFlight(holdAnswers());
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
  }, 60_000);

  it('begins also where all that failed was a first attempt at an address that the webhook had before', async () => {
    const { id } = await addWebhook(stage.test.database, stage.tenant, receiver.url('/hook', '127.0.0.1'));
    await stage.attempt(id, false, { url: 'https://127.0.0.1/before' });
    expect(await stage.asleep(id)).toMatchObject({ failingSince: null, retrying: 1 });
  }, 60_000);

  it('signs the next attempt with both secrets after a rotation', async () => {
    const id = await sleeping();
    await inTransaction(stage.test.database.pool, (trx) => manager.rotateSecret(trx, owner, id));
    receiver.answer = (_request, response) => void response.end();
    await stage.handle(id).result();
    expect(String(receiver.requests[0]?.headers['webhook-signature']).split(' ')).toHaveLength(2);
  }, 60_000);

  it('ends where its webhook is removed, and nothing is left', async () => {
    const id = await sleeping();
    await manager.remove(owner, id);
    await ended(id);
    expect(await deliveriesOf(stage.test.database, id)).toEqual([]);
    expect((await query('select 1 from webhook_attempts')).rowCount).toBe(0);
    expect(receiver.requests).toHaveLength(0);
  }, 60_000);

  it.each([200, 500])(
    'ends where its webhook is removed while an attempt is in flight, answered %i: nothing is left',
    async (status) => {
      const id = await sleeping();
      const response = await inFlight(holdAnswers());
      await manager.remove(owner, id);
      response.writeHead(status).end();
      await ended(id);
      expect(await deliveriesOf(stage.test.database, id)).toEqual([]);
      expect((await query('select 1 from webhook_attempts')).rowCount).toBe(0);
    },
    60_000,
  );
});

/** Deliveries that wait for a retry, due one after the other. */
async function waiting(count: number, apartMs: number, firstInMs: number): Promise<number> {
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

describe('under load', () => {
  it('costs less than one event of history a failed attempt, though each is due at a time of its own', async () => {
    const id = await waiting(300, 20, 300);
    await eventually(async () => {
      const rows = await deliveriesOf(stage.test.database, id);
      expect(rows.filter((row) => row.attempt_count === 2)).toHaveLength(300);
    }, 40_000);
    expect(await historyOf(id)).toBeLessThan(300 / 4);
  }, 60_000);

  it('makes what waits due at once when it is asked to, also while it makes attempts', async () => {
    // Two a second, for minutes: the activity stays.
    const id = await waiting(300, 500, 100);
    await eventually(() => expect(receiver.requests.length).toBeGreaterThan(1));
    const state = await stage.handle(id).query<WebhookRecoveryState>('state');
    expect(state.phase).toBe('delivering');
    await stage.handle(id).signal('retryNow');
    await eventually(async () => {
      const rows = await deliveriesOf(stage.test.database, id);
      expect(rows.filter((row) => row.attempt_count >= 2)).toHaveLength(300);
    }, 12_000);
  }, 60_000);

  it('begins its history anew, and goes on as before with what makes it findable', async () => {
    const id = await sleeping();
    const first = await stage.handle(id).describe();
    let described = first;
    for (const end = Date.now() + 150_000; described.runId === first.runId && Date.now() < end;) {
      await stage.handle(id).signal('wake');
      // No run can end while signals come without a pause.
      await delay(60);
      described = await stage.handle(id).describe();
    }
    expect(described.runId).not.toBe(first.runId);
    expect(described.typedSearchAttributes).toEqual(first.typedSearchAttributes);
    expect(described.searchAttributes).toMatchObject({ WebhookId: [String(id)] });
    expect(await stage.asleep(id)).toMatchObject({ retrying: 1, phase: 'sleeping' });
    receiver.answer = (_request, response) => void response.end();
    await stage.handle(id).result();
    expect(await deliveriesOf(stage.test.database, id)).toMatchObject([
      { status: 'delivered', attempt_count: 2 },
    ]);
  }, 180_000);
});
