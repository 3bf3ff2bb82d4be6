// The webhook loop sends each claimed delivery as one signed POST, and survives crashes, pauses and lost claims.
import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { upkeep } from '../../../src/features/upkeep.ts';
import { releaseWebhookClaims } from '../../../src/features/webhooks/loop/claim.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { recoverProcess } from '../../../src/platform/processes/reaper.ts';
import { createTestTenant, type TestTenant } from '../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { startReceiver, type Receiver } from '../../support/https-receiver.ts';
import {
  addWebhook,
  deliveriesOf,
  publishSent,
  rowOf,
  startWebhookLoop,
  type DeliveryRow,
  type RunningLoop,
} from '../../support/webhooks.ts';

let test: TestDatabase;
let tenant: TestTenant;
let receiver: Receiver;
let loops: RunningLoop[] = [];

beforeAll(async () => {
  test = await createTestDatabase();
  tenant = await createTestTenant(test.database, 'Hooked');
});
afterAll(() => test.drop());
beforeEach(async () => {
  receiver = await startReceiver();
  await test.database.pool.query('delete from webhooks; delete from webhook_queue; delete from outbox');
});
afterEach(async () => {
  await Promise.all(loops.map((loop) => loop.stop()));
  loops = [];
  await receiver.close();
});

async function run(options?: Parameters<typeof startWebhookLoop>[1]): Promise<RunningLoop> {
  const loop = await startWebhookLoop(test.database, options);
  loops.push(loop);
  return loop;
}

const hook = (path = '/hook') => receiver.url(path, '127.0.0.1');

async function ended(webhookId: number, count: number) {
  return eventually(async () => {
    const rows = await deliveriesOf(test.database, webhookId);
    const queue = await test.database.pool.query('select 1 from webhook_queue where webhook_id = $1', [
      webhookId,
    ]);
    expect(rows.filter((row) => row.status !== 'pending')).toHaveLength(count);
    expect(queue.rowCount).toBe(0);
    return rows;
  });
}

function answering(status: number, headers: Record<string, string> = {}, body = '') {
  receiver.answer = (_request, response) => void response.writeHead(status, headers).end(body);
}

/** @returns milliseconds from the end of a delivery's only attempt to its retry */
async function retryDelayMs(row: DeliveryRow | undefined): Promise<number> {
  const { rows } = await test.database.pool.query<{ started_at: Date; duration_ms: number }>(
    'select started_at, duration_ms from webhook_attempts where delivery_id = $1',
    [row?.id],
  );
  const [attempt] = rows;
  if (!row?.next_attempt_at || !attempt || rows.length > 1) throw new Error('not one attempt and a retry');
  return row.next_attempt_at.getTime() - attempt.started_at.getTime() - attempt.duration_ms;
}

describe('a delivery', () => {
  it('is one signed POST that any Standard Webhooks library verifies', async () => {
    const { id, secret } = await addWebhook(test.database, tenant, hook('/hook?tenant=1'));
    await publishSent(test.database, tenant, [41]);
    await run();
    const [row] = await ended(id, 1);
    expect(row).toMatchObject({
      status: 'delivered',
      response_code: 200,
      attempt_count: 1,
      last_error: null,
    });
    expect(receiver.requests).toHaveLength(1);
    const [request] = receiver.requests;
    const headers = request?.headers as Record<string, string>;
    expect(request).toMatchObject({ method: 'POST', url: '/hook?tenant=1' });
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'Carillon-Webhooks/1',
      'webhook-id': expect.stringMatching(/^evt_[0-9a-f]{32}$/),
    });
    const verified = new Webhook(secret).verify(request?.body ?? '', headers) as Record<string, unknown>;
    expect(Object.keys(verified)).toEqual(['type', 'timestamp', 'data']);
    expect(verified.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(verified).toMatchObject({
      type: 'email.sent',
      data: { message_id: 41, to: 'ann@example.test', subject: 'Hi', tags: {}, provider: 'smtp' },
    });
    expect(() => new Webhook(secret).verify(`${request?.body} `, headers)).toThrow();
  });

  it('records its attempt with time, status, duration and the start of the response body', async () => {
    const { id } = await addWebhook(test.database, tenant, hook());
    answering(201, {}, `\u0000${'é'.repeat(2_000)}`);
    const begunAt = Date.now();
    await publishSent(test.database, tenant, [1]);
    await run();
    const [row] = await ended(id, 1);
    const endedAt = Date.now();
    const { rows } = await test.database.pool.query('select * from webhook_attempts where delivery_id = $1', [
      row?.id,
    ]);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ attempt: 1, response_code: 201, error: null });
    expect(rows[0].response_excerpt).toMatch(/^é{500,1024}/);
    expect(rows[0].started_at.getTime()).toBeGreaterThanOrEqual(begunAt);
    expect(rows[0].started_at.getTime()).toBeLessThanOrEqual(endedAt);
  });

  it.each([200, 204, 299])('is delivered if the response has status %i', async (status) => {
    const { id } = await addWebhook(test.database, tenant, hook());
    answering(status);
    await publishSent(test.database, tenant, [1]);
    await run();
    expect(await ended(id, 1)).toMatchObject([{ status: 'delivered', response_code: status }]);
  });

  it.each([
    [300, {}],
    [302, { location: '/elsewhere' }],
    [410, {}],
    [500, {}],
  ])('is retried a minute after status %i', async (status, headers) => {
    const { id } = await addWebhook(test.database, tenant, hook());
    answering(status, headers);
    await publishSent(test.database, tenant, [1]);
    await run();
    const [row] = await ended(id, 1);
    expect(row).toMatchObject({ status: 'retrying', response_code: status, last_error: `status ${status}` });
    expect(await retryDelayMs(row)).toBe(60_000);
    expect(receiver.requests).toHaveLength(1);
  });

  it('is postponed by Retry-After, at most to the delay of the next step', async () => {
    const { id } = await addWebhook(test.database, tenant, hook());
    answering(429, { 'retry-after': '100000' });
    await publishSent(test.database, tenant, [1]);
    await run();
    const [row] = await ended(id, 1);
    expect(await retryDelayMs(row)).toBe(300_000);
  });

  it('fails without a connection if the address is not allowed', async () => {
    const { id } = await addWebhook(test.database, tenant, hook());
    await publishSent(test.database, tenant, [1]);
    await run({ allow: [] });
    const [row] = await ended(id, 1);
    expect(row).toMatchObject({ status: 'retrying', response_code: null });
    expect(row?.last_error).toMatch(/^address: /);
    expect(receiver.connections).toBe(0);
  });
});

describe('an event of a webhook that is switched off', () => {
  it('is never sent, even if the webhook is on again', async () => {
    const { id } = await addWebhook(test.database, tenant, hook());
    await publishSent(test.database, tenant, [1]);
    await test.database.pool.query('update webhooks set generation = generation + 2 where id = $1', [id]);
    await publishSent(test.database, tenant, [2]);
    await run();
    expect(await ended(id, 2)).toMatchObject([
      { status: 'failed', last_error: 'webhook_off', attempt_count: 0 },
      { status: 'delivered' },
    ]);
    expect(receiver.requests.map((request) => JSON.parse(request.body).data.message_id)).toEqual([2]);
  });

  it('fails if the webhook is off when the attempt is due', async () => {
    const { id } = await addWebhook(test.database, tenant, hook());
    await publishSent(test.database, tenant, [1]);
    await test.database.pool.query('update webhooks set enabled = false where id = $1', [id]);
    await run();
    expect(await ended(id, 1)).toMatchObject([{ status: 'failed', last_error: 'webhook_off' }]);
    expect(receiver.requests).toHaveLength(0);
  });

  it('is deleted with the webhook', async () => {
    const { id } = await addWebhook(test.database, tenant, hook());
    await publishSent(test.database, tenant, [1, 2]);
    await test.database.pool.query('delete from webhooks where id = $1', [id]);
    await run();
    await eventually(async () => expect(await deliveriesOf(test.database, id)).toEqual([]));
    await ended(id, 0);
    expect(receiver.requests).toHaveLength(0);
  });

  it('is not retried if it fails after the switch', async () => {
    const { id } = await addWebhook(test.database, tenant, hook());
    const off = 'update webhooks set enabled = false, generation = 2 where id = $1';
    receiver.answer = (_request, response) => {
      void test.database.pool.query(off, [id]).then(() => response.writeHead(500).end());
    };
    await publishSent(test.database, tenant, [1]);
    await run();
    expect(await ended(id, 1)).toMatchObject([
      { status: 'failed', last_error: 'webhook_off', attempt_count: 1 },
    ]);
    expect((await test.database.pool.query('select 1 from outbox')).rowCount).toBe(0);
  });
});

describe('failed attempts', () => {
  it('wake the recovery once, however many there are', async () => {
    const { id } = await addWebhook(test.database, tenant, hook());
    answering(500);
    await publishSent(test.database, tenant, [1, 2, 3]);
    await run();
    const rows = await ended(id, 3);
    await publishSent(test.database, tenant, [4, 5]);
    await ended(id, 5);
    const { rows: outbox } = await test.database.pool.query(
      'select kind, workflow_type, workflow_id, input, signal_name, search_attributes from outbox',
    );
    expect(outbox).toEqual([
      {
        kind: 'signal_with_start',
        workflow_type: 'webhookRecovery',
        workflow_id: `webhook/${id}`,
        input: [{ schema: 1, webhookId: id }],
        signal_name: 'wake',
        search_attributes: { AccountId: tenant.accountId, BrandId: tenant.brandId, WebhookId: id },
      },
    ]);
    type Row = Record<'next_wake_at' | 'failing_since', Date> & { recovery_armed: boolean };
    const webhook = await rowOf<Row>(test.database, id);
    const first = Math.min(...rows.map((row) => row.next_attempt_at?.getTime() ?? Infinity));
    expect(webhook?.recovery_armed).toBe(true);
    expect(webhook?.next_wake_at.getTime()).toBe(first);
    expect(webhook?.failing_since.getTime()).toBeLessThan(Date.now());
  });

  it('wake the recovery again if a retry is due before its next wake-up', async () => {
    const { id } = await addWebhook(test.database, tenant, hook());
    await test.database.pool.query(
      `update webhooks set recovery_armed = true, next_wake_at = now() + interval '1 hour' where id = $1`,
      [id],
    );
    answering(500);
    await publishSent(test.database, tenant, [1]);
    await run();
    await ended(id, 1);
    expect((await test.database.pool.query('select 1 from outbox')).rowCount).toBe(1);
  });

  it('end with the first success', async () => {
    const { id } = await addWebhook(test.database, tenant, hook());
    answering(500);
    await publishSent(test.database, tenant, [1]);
    await run();
    await ended(id, 1);
    expect((await rowOf(test.database, id))?.failing_since).not.toBeNull();
    answering(200);
    await publishSent(test.database, tenant, [2]);
    await ended(id, 2);
    expect((await rowOf(test.database, id))?.failing_since).toBeNull();
  });
});

/**
 * Calls a function before each query of a name.
 * @returns a function that stops this
 */
function beforeQuery(name: string, call: (values: unknown[]) => Promise<void>): () => void {
  const { pool } = test.database;
  const { query } = pool;
  pool.query = (async (statement: { name?: string; values?: unknown[] }, ...rest: unknown[]) => {
    if (statement.name === name) await call(statement.values ?? []);
    return (query as (...args: unknown[]) => Promise<unknown>).call(pool, statement, ...rest);
  }) as typeof pool.query;
  return () => void (pool.query = query);
}

async function ownersOf(webhookId: number): Promise<(number | null)[]> {
  const { rows } = await test.database.pool.query<{ owner: number | null }>(
    'select owner from webhook_queue where webhook_id = $1',
    [webhookId],
  );
  return rows.map((row) => row.owner);
}

describe('a claimed delivery', () => {
  it('is delivered by another process after its own has died', async () => {
    const { id } = await addWebhook(test.database, tenant, hook());
    await publishSent(test.database, tenant, [1, 2, 3]);
    const dead = 1_000_000;
    await test.database.pool.query('update webhook_queue set owner = $1', [dead]);
    await run();
    await inTransaction(test.database.pool, (client) => releaseWebhookClaims(client, dead));
    expect(await ended(id, 3)).toMatchObject([
      { status: 'delivered' },
      { status: 'delivered' },
      { status: 'delivered' },
    ]);
  });

  it('is found again if the response to the claim was lost', async () => {
    const { id } = await addWebhook(test.database, tenant, hook());
    const { process } = await run({ sweepMs: 200 });
    await publishSent(test.database, tenant, [1]);
    await test.database.pool.query('update webhook_queue set owner = $1', [process.id()]);
    expect(await ended(id, 1)).toMatchObject([{ status: 'delivered' }]);
  }, 60_000);

  it('is returned if its endpoint cannot be read, and is attempted later', async () => {
    const { id } = await addWebhook(test.database, tenant, hook());
    await publishSent(test.database, tenant, [1, 2]);
    const { pool } = test.database;
    const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>;
    let failures = 0;
    pool.query = ((statement: { name?: string }, ...rest: unknown[]) => {
      if (statement.name !== 'read_endpoints' || failures > 0) return query(statement, ...rest);
      failures += 1;
      return Promise.reject(new Error('Connection terminated unexpectedly'));
    }) as typeof pool.query;
    await run();
    expect(await ended(id, 2)).toMatchObject([{ status: 'delivered' }, { status: 'delivered' }]);
    expect(failures).toBe(1);
  });

  it('waits while the loop is paused, and is attempted when it resumes', async () => {
    const { id } = await addWebhook(test.database, tenant, hook());
    const { loop } = await run();
    loop.setMode('paused');
    await publishSent(test.database, tenant, [1]);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(receiver.requests).toHaveLength(0);
    expect(loop.report()).toMatchObject({ mode: 'paused', inFlight: 0 });
    loop.setMode('running');
    await ended(id, 1);
  });

  it('is returned if the loop is paused before the claim returns', async () => {
    const { id } = await addWebhook(test.database, tenant, hook());
    const { loop } = await run();
    const restore = beforeQuery('read_endpoints', async () => loop.setMode('paused'));
    await publishSent(test.database, tenant, [1, 2]);
    await eventually(() => expect(loop.report().mode).toBe('paused'));
    restore();
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(receiver.requests).toHaveLength(0);
    expect(await ownersOf(id)).toEqual([null, null]);
    loop.setMode('running');
    await ended(id, 2);
  });

  it('is attempted once even if it is claimed again during its attempt', async () => {
    const { id } = await addWebhook(test.database, tenant, hook());
    const held: ServerResponse[] = [];
    receiver.answer = (_request, response) => void held.push(response);
    const { loop, process, waker } = await run();
    await publishSent(test.database, tenant, [1]);
    await eventually(() => expect(held).toHaveLength(1));
    // The reaper does this if it takes this process for dead.
    await test.database.pool.query('update webhook_queue set owner = null where webhook_id = $1', [id]);
    waker.wake('webhook');
    await eventually(async () => expect(await ownersOf(id)).toEqual([process.id()]));
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(loop.report().inFlight).toBe(1);
    for (const response of held) response.end();
    expect(await ended(id, 1)).toMatchObject([{ status: 'delivered', attempt_count: 1 }]);
    expect(receiver.requests).toHaveLength(1);
    expect(loop.report().inFlight).toBe(0);
  });

  it('is released by the reaper if the process is gone', async () => {
    const { id } = await addWebhook(test.database, tenant, hook());
    await publishSent(test.database, tenant, [1]);
    const { rows } = await test.database.pool.query<{ id: number }>(
      `insert into processes (role, host, pid, seen_at) values ('sender', 'gone', 1, now() - interval '1 minute')
       returning id`,
    );
    const owner = rows[0]?.id ?? 0;
    await test.database.pool.query('update webhook_queue set owner = $1', [owner]);
    expect(await recoverProcess(test.database.pool, owner, upkeep.processWork)).toBe(true);
    await run();
    await ended(id, 1);
  });
});

describe('a claim', () => {
  it('continues after the endpoints of the last one, even if another sender has locked a delivery', async () => {
    const { pool } = test.database;
    const ids: number[] = [];
    for (let brand = 0; brand < 7; brand += 1) {
      const owner = await createTestTenant(test.database, `Many ${brand}`);
      for (let n = 0; n < 10; n += 1) ids.push((await addWebhook(test.database, owner, hook(`/${n}`))).id);
      await publishSent(test.database, owner, [1]);
    }
    const begunAfter: number[] = [];
    const client = await pool.connect();
    await client.query('begin');
    await client.query('select 1 from webhook_queue where webhook_id = $1 for update', [ids[3]]);
    const restore = beforeQuery('claim_webhook_deliveries', async ([, after]) => {
      begunAfter.push(Number(after));
    });
    await run();
    await eventually(() => expect(receiver.requests.length).toBe(69));
    await client.query('commit');
    client.release();
    restore();
    expect(begunAfter.slice(0, 2)).toEqual([0, ids[63]]);
    await ended(ids[3] ?? 0, 1);
  });
});

it('continues after the database was unavailable', async () => {
  const { id } = await addWebhook(test.database, tenant, hook());
  await run();
  const numbers = Array.from({ length: 200 }, (_each, index) => index + 1);
  await publishSent(test.database, tenant, numbers);
  await eventually(async () => expect(receiver.requests.length).toBeGreaterThan(0));
  await test.database.pool
    .query('select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()')
    .catch(() => undefined);
  await publishSent(test.database, tenant, [201]).catch(() => publishSent(test.database, tenant, [201]));
  const rows = await ended(id, 201);
  expect(rows.every((row) => row.status === 'delivered')).toBe(true);
  const seen = new Set(
    receiver.requests.map((request) => JSON.parse(request.body).data.message_id as number),
  );
  expect(seen.size).toBe(201);
}, 60_000);
