// The API lists a tenant's recent deliveries with every attempt, and repeats a delivery once per request.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { MAX_ATTEMPTS } from '../../../src/features/webhooks/deliveries/service.ts';
import { startTestApi, type TestApi, type TestBody } from '../../support/api.ts';
import { eventually } from '../../support/eventually.ts';
import { startReceiver, type Receiver } from '../../support/https-receiver.ts';
import { createAnswerCheck, type OpenApi } from '../../support/openapi.ts';
import { createTestRecovery, type TestRecovery } from '../../support/webhook-recovery.ts';
import {
  addWebhook,
  deliveriesOf,
  publishSent,
  rowOf,
  startWebhookLoop,
  type DeliveryRow,
} from '../../support/webhooks.ts';

let api: TestApi;
let receiver: Receiver;
let recovery: TestRecovery;
let hook: number;

beforeAll(async () => {
  api = await startTestApi({ env: { EGRESS_ALLOW: '127.0.0.1/32' } });
  receiver = await startReceiver();
  recovery = createTestRecovery(api.database);
});
afterAll(async () => {
  await recovery.close();
  await receiver.close();
  await api.close();
});
beforeEach(async () => {
  receiver.requests.length = 0;
  answering(200);
  await api.database.pool.query(
    'delete from webhooks; delete from webhook_deliveries; delete from webhook_attempts; delete from webhook_queue; delete from outbox',
  );
  hook = await add();
});

function answering(status: number, body = ''): void {
  receiver.answer = (_request, response) => void response.writeHead(status).end(body);
}

async function add(): Promise<number> {
  return (await addWebhook(api.database, api, receiver.url('/hook', '127.0.0.1'))).id;
}

const path = (id = hook, rest = '') => `/v1/my/webhooks/${id}/deliveries${rest}`;
const list = (query = '', id = hook) => api.request('GET', `${path(id)}${query}`);
const show = (delivery: number, id = hook) => api.request('GET', path(id, `/${delivery}`));
const retry = (delivery: number, options: Parameters<TestApi['request']>[2] = {}) =>
  api.request('POST', path(hook, `/${delivery}/retry`), options);

/** Inserts deliveries, oldest first. @returns their ids */
async function insert(
  count: number,
  changes: Record<string, unknown> = {},
  webhook = hook,
): Promise<number[]> {
  const row = { type: 'email.sent', status: 'delivered', attempt_count: 1, days_ago: 0, ...changes };
  const next = row.status === 'retrying' ? `now() + interval '1 hour'` : 'null';
  const { rows } = await api.database.pool.query<{ id: number }>(
    `insert into webhook_deliveries
       (webhook_id, event_id, type, generation, status, attempt_count, next_attempt_at, created_at)
     select $1, gen_random_uuid(), $2, 1, $3, $4, ${next}, now() - make_interval(secs => $5::float8 * 86400)
     from generate_series(1, $6) returning id`,
    [webhook, row.type, row.status, row.attempt_count, row.days_ago, count],
  );
  return rows.map(({ id }) => id);
}

/** Publishes an event and waits for its first attempt. */
async function publishAndAttempt(): Promise<DeliveryRow> {
  await publishSent(api.database, api, [1]);
  const loop = await startWebhookLoop(api.database);
  try {
    return await eventually(async () => {
      const [first] = await deliveriesOf(api.database, hook);
      if (!first || first.status === 'pending') throw new Error('not yet');
      return first;
    });
  } finally {
    await loop.stop();
  }
}

const ids = (answer: { list: TestBody[] }) => answer.list.map(({ id }) => Number(id));

async function countWakes(): Promise<number> {
  const { rowCount } = await api.database.pool.query('select 1 from outbox where workflow_id = $1', [
    `webhook/${hook}`,
  ]);
  return rowCount ?? 0;
}

describe('GET /webhooks/:id/deliveries', () => {
  it('returns the deliveries of the webhook, newest first, with the headers of a list', async () => {
    const own = await insert(3);
    await insert(2, {}, await add());
    const answer = await list();
    expect(answer.status).toBe(200);
    expect(ids(answer)).toEqual(own.toReversed());
    expect(answer.headers.get('x-total-count')).toBe('3');
    expect(answer.list[0]).toEqual({
      id: own[2],
      webhook_id: hook,
      event_id: expect.stringMatching(/^evt_[0-9a-f]{32}$/),
      type: 'email.sent',
      status: 'delivered',
      response_code: null,
      attempt_count: 1,
      next_attempt_at: null,
      last_error: null,
      test: false,
      created_at: expect.any(String),
    });
  });

  it('returns up to 1,000 deliveries, or the requested page', async () => {
    const own = (await insert(1_010)).toReversed();
    expect(ids(await list())).toEqual(own.slice(0, 1_000));
    expect(ids(await list('?limit=5000'))).toHaveLength(1_000);
    expect(ids(await list('?limit=10&page=2'))).toEqual(own.slice(10, 20));
    expect(ids(await list('?page=9'))).toEqual([]);
    const next = await list(`?limit=10&after=${own[99]}`);
    expect(ids(next)).toEqual(own.slice(100, 110));
    expect(next.headers.get('x-total-count')).toBe('1010');
    expect(next.headers.get('link')).toContain(`after=${own[109]}`);
  });

  it('filters by status and by type', async () => {
    const [failed] = await insert(1, { status: 'failed', type: 'email.bounced' });
    const [retrying] = await insert(1, { status: 'retrying' });
    const [bounced] = await insert(1, { type: 'email.bounced' });
    const [pending] = await insert(1, { status: 'pending', attempt_count: 0 });
    expect(ids(await list('?status=failed'))).toEqual([failed]);
    expect(ids(await list('?status=retrying'))).toEqual([retrying]);
    expect(ids(await list('?status=delivered'))).toEqual([bounced]);
    expect(ids(await list('?status=pending'))).toEqual([pending]);
    expect(ids(await list('?type=email.bounced'))).toEqual([bounced, failed]);
    const both = await list('?type=email.bounced&status=failed');
    expect([ids(both), both.headers.get('x-total-count')]).toEqual([[failed], '1']);
    expect(ids(await list('?type=email.opened'))).toEqual([]);
  });

  it('shows the last 7 days', async () => {
    await insert(1, { days_ago: 7.01 });
    const [kept] = await insert(1, { days_ago: 6.99 });
    const answer = await list();
    expect([ids(answer), answer.headers.get('x-total-count')]).toEqual([[kept], '1']);
  });

  it.each([
    ['status=lost', 'status'],
    ['type=email.lost', 'type'],
    ['page=0', 'page'],
    ['limit=ten', 'limit'],
    ['after=-1', 'after'],
    ['event=email.sent', 'event'],
  ])('rejects %s', async (query, field) => {
    const answer = await list(`?${query}`);
    expect([answer.status, Object.keys(answer.body.validation_errors ?? {})]).toEqual([422, [field]]);
  });
});

describe('GET /webhooks/:id/deliveries/:delivery_id', () => {
  it('shows each attempt with its time, status, duration and the first 1 KB of the response', async () => {
    answering(500, `${'e'.repeat(1_100)}`);
    const { id } = await publishAndAttempt();
    answering(201, 'thanks');
    await retry(id);
    await recovery.goRound(hook, new Date(Date.now() + 1_000));
    const { status, body } = await show(id);
    expect(status).toBe(200);
    expect(body).toMatchObject({ id, status: 'delivered', response_code: 201, attempt_count: 2 });
    expect(body.attempts).toEqual([
      {
        number: 1,
        started_at: expect.any(String),
        duration_ms: expect.any(Number),
        response_code: 500,
        error: 'status 500',
        response_body: 'e'.repeat(1_024),
      },
      {
        number: 2,
        started_at: expect.any(String),
        duration_ms: expect.any(Number),
        response_code: 201,
        error: null,
        response_body: 'thanks',
      },
    ]);
    expect(receiver.requests.map(({ headers }) => headers['webhook-id'])).toEqual([
      body.event_id,
      body.event_id,
    ]);
    expect(receiver.requests.map((each) => each.body)).toEqual([body.request_body, body.request_body]);
  });

  it('keeps the status of the last response when a later attempt gets none', async () => {
    receiver.answer = (_request, response) => void response.destroy();
    const { id } = await publishAndAttempt();
    expect((await show(id)).body).toMatchObject({ status: 'retrying', response_code: null });
    for (const [responseCode, attempts] of [
      [500, [null, 500]],
      [null, [null, 500, null]],
    ] as const) {
      if (responseCode === null) receiver.answer = (_request, response) => void response.destroy();
      else answering(responseCode, '');
      await retry(id);
      await recovery.goRound(hook, new Date(Date.now() + 1_000));
      const { body } = await show(id);
      expect(body).toMatchObject({ status: 'retrying', response_code: 500, attempt_count: attempts.length });
      expect(body.attempts).toMatchObject(attempts.map((each) => ({ response_code: each })));
    }
  });

  it('shows no attempts before the first one', async () => {
    const [id] = await insert(1, { status: 'pending', attempt_count: 0 });
    expect((await show(id ?? 0)).body.attempts).toEqual([]);
  });

  it('is a 404 for a delivery of another webhook, and for one older than 7 days', async () => {
    const [foreign] = await insert(1, {}, await add());
    const [old] = await insert(1, { days_ago: 7.01 });
    for (const id of [foreign, old, 999_999]) expect((await show(id ?? 0)).status).toBe(404);
  });
});

describe('POST …/deliveries/:delivery_id/retry', () => {
  it('makes a waiting retry due now and wakes the recovery', async () => {
    answering(500);
    const { id, next_attempt_at: later } = await publishAndAttempt();
    await api.database.pool.query('delete from outbox');
    const answer = await retry(id);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ id, status: 'retrying', attempt_count: 1 });
    const due = Date.parse(String(answer.body.next_attempt_at));
    expect(due).toBeLessThan((later?.getTime() ?? 0) - 50_000);
    expect(await countWakes()).toBe(1);
    const row = await rowOf<{ next_wake_at: Date; recovery_armed: boolean }>(api.database, hook);
    expect(row?.recovery_armed).toBe(true);
    expect(row?.next_wake_at.getTime()).toBeLessThanOrEqual(due);
    answering(200);
    expect(await recovery.goRound(hook, new Date(Date.now() + 1_000))).toBe(1);
    expect(await deliveriesOf(api.database, hook)).toMatchObject([{ status: 'delivered', attempt_count: 2 }]);
  });

  it('sends a delivered event again, arming the recovery', async () => {
    const { id } = await publishAndAttempt();
    await api.database.pool.query('delete from outbox');
    expect((await rowOf(api.database, hook))?.recovery_armed).toBe(false);
    expect((await retry(id)).body.status).toBe('retrying');
    expect((await rowOf(api.database, hook))?.recovery_armed).toBe(true);
    expect(await countWakes()).toBe(1);
    await recovery.goRound(hook, new Date(Date.now() + 1_000));
    expect(receiver.requests).toHaveLength(2);
    expect(await deliveriesOf(api.database, hook)).toMatchObject([{ status: 'delivered', attempt_count: 2 }]);
  });

  it('gives a failed delivery one more attempt, but no new schedule', async () => {
    answering(500);
    const { id } = await publishAndAttempt();
    await api.database.pool.query(
      `update webhook_deliveries set status = 'failed', next_attempt_at = null, attempt_count = 4 where id = $1`,
      [id],
    );
    await retry(id);
    await recovery.goRound(hook, new Date(Date.now() + 1_000));
    expect(await deliveriesOf(api.database, hook)).toMatchObject([
      { status: 'failed', attempt_count: 5, last_error: 'status 500' },
    ]);
    expect(receiver.requests).toHaveLength(2);
  });

  it('sends an event whose retry ended when the webhook was turned off, once the webhook is on again', async () => {
    answering(500);
    const { id } = await publishAndAttempt();
    const one = `/v1/my/webhooks/${hook}`;
    await api.request('PATCH', one, { body: { enabled: false } });
    const off = await retry(id);
    expect([off.status, off.body.code]).toEqual([409, 'conflict']);
    expect(off.body.message).toBe('the webhook is off: turn it on first');
    await recovery.goRound(hook);
    expect((await show(id)).body).toMatchObject({ status: 'failed', last_error: 'webhook_off' });
    await api.request('PATCH', one, { body: { enabled: true } });
    await recovery.goRound(hook, new Date(Date.now() + 86_400_000));
    expect(receiver.requests).toHaveLength(1);
    answering(200);
    expect((await retry(id)).status).toBe(200);
    await recovery.goRound(hook, new Date(Date.now() + 1_000));
    expect(receiver.requests).toHaveLength(2);
    expect((await show(id)).body.status).toBe('delivered');
  });

  it('leaves a delivery unchanged whose first attempt is still to come', async () => {
    const [id] = await insert(1, { status: 'pending', attempt_count: 0 });
    const answer = await retry(id ?? 0);
    expect([answer.status, answer.body.status, answer.body.next_attempt_at]).toEqual([200, 'pending', null]);
    expect(await countWakes()).toBe(0);
  });

  it('is a 409 after a hundred attempts', async () => {
    const [id] = await insert(1, { status: 'failed', attempt_count: MAX_ATTEMPTS });
    const answer = await retry(id ?? 0);
    expect([answer.status, answer.body.code]).toEqual([409, 'conflict']);
    expect((await deliveriesOf(api.database, hook))[0]?.status).toBe('failed');
  });

  it('makes one attempt for concurrent requests, and for requests with the same Idempotency-Key', async () => {
    answering(500);
    const { id } = await publishAndAttempt();
    await Promise.all(Array.from({ length: 10 }, () => retry(id)));
    await recovery.goRound(hook, new Date(Date.now() + 1_000));
    expect(await deliveriesOf(api.database, hook)).toMatchObject([{ status: 'retrying', attempt_count: 2 }]);
    const key = { headers: { 'Idempotency-Key': 'retry-1' } };
    expect((await retry(id, key)).headers.get('idempotent-replayed')).toBeNull();
    await recovery.goRound(hook, new Date(Date.now() + 1_000));
    const again = await retry(id, key);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.body).toMatchObject({ id, attempt_count: 3 });
    expect(Date.parse(String(again.body.next_attempt_at))).toBeGreaterThan(Date.now() + 30_000);
  });
});

describe('webhook deliveries', () => {
  it('are visible to owners, admins and API keys of the tenant only', async () => {
    const [id] = await insert(1, { status: 'failed' });
    const member = await api.addUser('member');
    const admin = await api.addUser('admin');
    const routes: [string, string][] = [
      ['GET', path()],
      ['GET', path(hook, `/${id}`)],
      ['POST', path(hook, `/${id}/retry`)],
    ];
    for (const [method, where] of routes) {
      const by = async (token: string) => (await api.request(method, where, { token })).status;
      expect([method, where, await by(member.userJwt)]).toEqual([method, where, 403]);
      expect([method, where, await by(api.other.apiKey)]).toEqual([method, where, 404]);
      for (const token of [admin.userJwt, api.userJwt, api.apiKey]) expect(await by(token)).toBe(200);
    }
  });

  it('of another tenant cannot be reached through the caller’s own webhook', async () => {
    const foreign = (await addWebhook(api.database, api.other, receiver.url('/', '127.0.0.1'))).id;
    const [id] = await insert(1, { status: 'failed' }, foreign);
    expect((await show(id ?? 0)).status).toBe(404);
    expect((await retry(id ?? 0)).status).toBe(404);
    expect(await deliveriesOf(api.database, foreign)).toMatchObject([{ status: 'failed' }]);
  });

  it('and webhooks have exactly the fields that /openapi.yaml describes', async () => {
    const document = (await api.request<OpenApi>('GET', '/openapi.json', { token: null })).body;
    const problemsOf = createAnswerCheck(document);
    answering(500, 'no');
    const { id } = await publishAndAttempt();
    const one = `/v1/my/webhooks/${hook}`;
    const asked: [string, string, string, unknown?][] = [
      ['GET', '/v1/my/webhooks', '/v1/my/webhooks'],
      ['GET', one, '/v1/my/webhooks/{id}'],
      ['POST', `${one}/test`, '/v1/my/webhooks/{id}/test', { type: 'domain.verified' }],
      ['GET', path(), '/v1/my/webhooks/{id}/deliveries'],
      ['GET', path(hook, `/${id}`), '/v1/my/webhooks/{id}/deliveries/{delivery_id}'],
      ['POST', path(hook, `/${id}/retry`), '/v1/my/webhooks/{id}/deliveries/{delivery_id}/retry'],
      ['POST', `${one}/rotate_secret`, '/v1/my/webhooks/{id}/rotate_secret'],
      ['PATCH', one, '/v1/my/webhooks/{id}', { enabled: false }],
      ['POST', `${one}/test`, '/v1/my/webhooks/{id}/test', {}],
      ['POST', path(hook, `/${id}/retry`), '/v1/my/webhooks/{id}/deliveries/{delivery_id}/retry'],
      ['GET', path(hook, '/999999'), '/v1/my/webhooks/{id}/deliveries/{delivery_id}'],
      ['PATCH', one, '/v1/my/webhooks/{id}', { events: [] }],
      ['DELETE', one, '/v1/my/webhooks/{id}'],
    ];
    const statuses = [];
    for (const [method, where, template, body] of asked) {
      const answer = await api.request<unknown>(method, where, { body });
      statuses.push(answer.status);
      expect([method, where, problemsOf(template, method.toLowerCase(), answer.status, answer.body)]).toEqual(
        [method, where, []],
      );
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 200, 200, 409, 409, 404, 422, 200]);
  });
});

describe('POST …/retry_deliveries', () => {
  const retryAll = (body: object, headers: Record<string, string> = {}) =>
    api.request('POST', `/v1/my/webhooks/${hook}/retry_deliveries`, { body, headers });
  const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
  const retrying = async () => ids(await list('?status=retrying'));

  it('makes the failed deliveries since a time due, and wakes the recovery', async () => {
    const [early, late] = [
      await insert(1, { status: 'failed', days_ago: 0.5 }),
      await insert(2, { status: 'failed', days_ago: 0.1 }),
    ];
    await insert(1, { status: 'delivered' });
    const { status, body } = await retryAll({ since: hoursAgo(6) });
    expect([status, body]).toEqual([200, { retried_count: 2, complete: true }]);
    expect(await retrying()).toEqual([...late].reverse());
    expect(await retryAll({ since: hoursAgo(24), until: hoursAgo(6) })).toMatchObject({
      body: { retried_count: 1 },
    });
    expect(await retrying()).toEqual([...early, ...late].reverse());
    const { rows } = await api.database.pool.query('select 1 from outbox');
    expect(rows.length).toBeGreaterThan(0);
  });

  it('replays delivered events with the same webhook-id', async () => {
    const [id = 0] = await insert(1, { status: 'delivered' });
    const before = (await show(id)).body.event_id;
    expect((await retryAll({ since: hoursAgo(1), status: 'delivered', type: 'email.sent' })).body).toEqual({
      retried_count: 1,
      complete: true,
    });
    expect((await show(id)).body).toMatchObject({ status: 'retrying', event_id: before });
  });

  it('retries once for an idempotency key', async () => {
    await insert(2, { status: 'failed' });
    const headers = { 'Idempotency-Key': 'outage-1' };
    const body = { since: hoursAgo(1) };
    expect((await retryAll(body, headers)).body.retried_count).toBe(2);
    await insert(1, { status: 'failed' });
    const again = await retryAll(body, headers);
    expect([again.body.retried_count, again.headers.get('idempotent-replayed')]).toEqual([2, 'true']);
    expect(await retrying()).toHaveLength(2);
  });

  it('leaves deliveries of other webhooks, waiting ones, and those with a hundred attempts', async () => {
    const other = await add();
    await insert(1, { status: 'failed' }, other);
    await insert(1, { status: 'pending', attempt_count: 0 });
    await insert(1, { status: 'failed', attempt_count: MAX_ATTEMPTS });
    expect((await retryAll({ since: hoursAgo(24) })).body.retried_count).toBe(0);
    expect(ids(await list('?status=failed', other))).toHaveLength(1);
  });

  it('is 409 while the webhook is off, and 422 for delivered events without a time', async () => {
    await insert(1, { status: 'failed' });
    const missing = await retryAll({ status: 'delivered' });
    expect([missing.status, Object.keys(missing.body.validation_errors ?? {})]).toEqual([422, ['since']]);
    await api.database.pool.query('update webhooks set enabled = false where id = $1', [hook]);
    expect((await retryAll({})).status).toBe(409);
    expect(await retrying()).toEqual([]);
  });
});
