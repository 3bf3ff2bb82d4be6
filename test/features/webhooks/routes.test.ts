// The API creates, lists and removes webhooks only within the caller's tenant, and only with allowed URLs.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventTypes } from '../../../src/features/webhooks/catalogue.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { startDnsServer, type TestDnsServer } from '../../support/dns/server.ts';

let api: TestApi;
let dns: TestDnsServer;
const path = '/v1/my/webhooks';
const url = 'https://hooks.example.test/carillon';

beforeAll(async () => {
  dns = await startDnsServer();
  api = await startTestApi({ env: { DNS_SERVERS: dns.address, EGRESS_ALLOW: '127.0.0.1/32' } });
});
afterAll(async () => {
  await api.close();
  dns.close();
});
beforeEach(async () => {
  dns.zone = {
    'hooks.example.test': { A: ['93.184.216.34'] },
    'private.test': { A: ['10.0.0.1'] },
    'mixed.test': { A: ['93.184.216.34', '10.0.0.1'] },
    'inside.test': { A: ['127.0.0.1'] },
    'broken.test': 'servfail',
  };
  await api.database.pool.query('delete from webhooks; delete from webhook_deliveries');
});

const create = (body: unknown = { url, events: ['email.sent'] }, headers: Record<string, string> = {}) =>
  api.request('POST', path, { body, headers });

describe('POST /webhooks', () => {
  it('responds with 201 and all fields, and shows the whole secret once', async () => {
    const created = await create({ url, events: ['email.sent', 'email.failed', 'email.sent'] });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      id: expect.any(Number),
      url,
      events: ['email.sent', 'email.failed'],
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
      enabled: true,
      failing_since: null,
      disabled_at: null,
      disabled_reason: null,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    const secret = String(created.body.secret);
    const masked = `whsec_…${secret.slice(-4)}`;
    expect((await api.request('GET', `${path}/${String(created.body.id)}`)).body.secret).toBe(masked);
    expect((await api.request('GET', path)).list[0]?.secret).toBe(masked);
    const revealed = await api.request('GET', `${path}/${String(created.body.id)}?reveal=true`);
    expect(revealed.body.secret).toBe(secret);
    expect((await api.request('GET', `${path}/${String(created.body.id)}?reveal=false`)).body.secret).toBe(
      masked,
    );
    const { rows } = await api.database.pool.query<{ text: string }>(
      'select w::text as text from webhooks w',
    );
    expect(rows[0]?.text).not.toContain(secret.slice(6, 40));
  });

  it('accepts every type of event', async () => {
    expect(eventTypes).toHaveLength(21);
    expect((await create({ url, events: eventTypes })).status).toBe(201);
  });

  it.each([
    ['no url', { events: ['email.sent'] }, 'url'],
    ['an invalid url', { url: 'nowhere', events: ['email.sent'] }, 'url'],
    ['a url that is too long', { url: `${url}${'x'.repeat(2_048)}`, events: ['email.sent'] }, 'url'],
    ['a number as url', { url: 7, events: ['email.sent'] }, 'url'],
    ['http', { url: 'http://hooks.example.test/', events: ['email.sent'] }, 'url'],
    ['credentials', { url: 'https://a:b@hooks.example.test/', events: ['email.sent'] }, 'url'],
    ['the port of another service', { url: 'https://hooks.example.test:25/', events: ['email.sent'] }, 'url'],
    ['a private address', { url: 'https://192.168.0.1/', events: ['email.sent'] }, 'url'],
    ['loopback as a number', { url: 'https://2130706434/', events: ['email.sent'] }, 'url'],
    ['loopback in hexadecimal', { url: 'https://0x7f.2/', events: ['email.sent'] }, 'url'],
    ['loopback in IPv6', { url: 'https://[::ffff:127.0.0.1]/', events: ['email.sent'] }, 'url'],
    ['a name with a private address', { url: 'https://private.test/', events: ['email.sent'] }, 'url'],
    [
      'a name with a public and a private address',
      { url: 'https://mixed.test/', events: ['email.sent'] },
      'url',
    ],
    ['a name that does not exist', { url: 'https://nobody.test/', events: ['email.sent'] }, 'url'],
    ['a name whose servers fail', { url: 'https://broken.test/', events: ['email.sent'] }, 'url'],
    ['no events', { url }, 'events'],
    ['an empty list', { url, events: [] }, 'events'],
    ['an unknown event', { url, events: ['email.sent', 'email.lost'] }, 'events.1'],
    ['a string as events', { url, events: 'email.sent' }, 'events'],
    ['an unknown field', { url, events: ['email.sent'], evnets: [] }, 'evnets'],
  ])('rejects %s and changes nothing', async (_name, body, field) => {
    const answer = await create(body);
    expect(answer.status).toBe(422);
    expect(answer.body.code).toBe('validation_error');
    expect(Object.keys(answer.body.validation_errors ?? {})).toEqual([field]);
    expect((await api.database.pool.query('select 1 from webhooks')).rowCount).toBe(0);
  });

  it('says what is wrong with the URL', async () => {
    const answer = await create({ url: 'https://private.test/', events: ['email.sent'] });
    expect(answer.body.validation_errors).toEqual({ url: ['must lead to a public internet address'] });
  });

  it('allows addresses that EGRESS_ALLOW permits, even over plain HTTP', async () => {
    expect((await create({ url: 'http://inside.test:9000/', events: ['email.sent'] })).status).toBe(201);
    expect((await create({ url: 'http://127.0.0.1:9000/', events: ['email.sent'] })).status).toBe(201);
    expect((await create({ url: 'http://127.0.0.2:9000/', events: ['email.sent'] })).status).toBe(422);
  });

  it('ignores read-only fields', async () => {
    const body = { url, events: ['email.sent'], id: 7, secret: 'whsec_mine', enabled: false };
    const created = await create(body);
    expect(created.status).toBe(201);
    expect(created.body.enabled).toBe(true);
    expect(created.body.secret).not.toBe('whsec_mine');
  });

  it('creates at most ten webhooks in a brand, even for twenty concurrent requests', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => create()));
    expect(answers.filter((answer) => answer.status === 201)).toHaveLength(10);
    const refused = answers.filter((answer) => answer.status === 422);
    expect(refused).toHaveLength(10);
    expect(refused[0]?.body.validation_errors).toEqual({ webhooks: ['are limited to 10 for each brand'] });
    expect(
      (await api.request('POST', path, { token: api.other.apiKey, body: { url, events: ['email.sent'] } }))
        .status,
    ).toBe(201);
  });

  it('creates one webhook for requests with the same Idempotency-Key, even if the name no longer resolves', async () => {
    const key = { 'Idempotency-Key': 'hook-1' };
    const [first, second] = await Promise.all([create(undefined, key), create(undefined, key)]);
    dns.zone = { ...dns.zone, 'hooks.example.test': 'servfail' };
    const third = await create(undefined, key);
    expect([first.status, second.status, third.status]).toEqual([201, 201, 201]);
    expect(new Set([first, second, third].map((answer) => answer.body.id)).size).toBe(1);
    expect(new Set([first, second, third].map((answer) => answer.body.secret)).size).toBe(1);
    expect(third.headers.get('idempotent-replayed')).toBe('true');
    const other = await create({ url, events: ['email.failed'] }, key);
    expect([other.status, other.body.code]).toEqual([409, 'idempotency_conflict']);
  });
});

describe('access to webhooks', () => {
  it('is allowed to owners, admins and API keys, but not to members', async () => {
    const created = await create();
    const one = `${path}/${String(created.body.id)}`;
    const member = await api.addUser('member');
    const admin = await api.addUser('admin');
    for (const [method, where] of [
      ['GET', path],
      ['GET', one],
      ['DELETE', one],
    ] as const) {
      const answer = await api.request(method, where, { token: member.userJwt });
      expect([answer.status, answer.body.code]).toEqual([403, 'forbidden']);
    }
    const body = { url, events: ['email.sent'] };
    expect((await api.request('POST', path, { token: member.userJwt, body })).status).toBe(403);
    expect((await api.request('POST', path, { token: admin.userJwt, body })).status).toBe(201);
    expect((await api.request('GET', path, { token: api.userJwt })).list).toHaveLength(2);
    expect((await api.request('GET', path, { token: null })).status).toBe(401);
  });

  it('is limited to the caller’s tenant', async () => {
    const created = await create();
    const token = api.other.apiKey;
    expect((await api.request('GET', path, { token })).list).toEqual([]);
    for (const method of ['GET', 'DELETE']) {
      expect((await api.request(method, `${path}/${String(created.body.id)}`, { token })).status).toBe(404);
    }
    expect((await api.request('GET', path)).list).toHaveLength(1);
  });
});

describe('GET /webhooks', () => {
  it('returns all webhooks, newest first, with the headers of a list', async () => {
    const ids = [];
    for (let n = 0; n < 3; n += 1) ids.unshift((await create()).body.id);
    const all = await api.request('GET', path);
    expect(all.list.map((webhook) => webhook.id)).toEqual(ids);
    expect(all.headers.get('x-total-count')).toBe('3');
    const page = await api.request('GET', `${path}?limit=1&page=2`);
    expect(page.list.map((webhook) => webhook.id)).toEqual([ids[1]]);
    const after = await api.request('GET', `${path}?limit=1&after=${String(ids[1])}`);
    expect(after.list.map((webhook) => webhook.id)).toEqual([ids[2]]);
  });

  it('rejects a reveal that is neither true nor false', async () => {
    const created = await create();
    expect((await api.request('GET', `${path}/${String(created.body.id)}?reveal=yes`)).status).toBe(422);
  });
});

describe('DELETE /webhooks/:id', () => {
  it('returns the webhook and removes it with its queue and history', async () => {
    const { id } = (await create()).body;
    const { pool } = api.database;
    await pool.query(
      `with d as (insert into webhook_deliveries (webhook_id, event_id, type, generation)
         select $1, gen_random_uuid(), 'email.sent', 1 from generate_series(1, 50) returning *),
       q as (insert into webhook_queue (delivery_id, created_at, webhook_id, event_id, generation)
         select id, created_at, webhook_id, event_id, 1 from d)
       insert into webhook_attempts (delivery_id, created_at, attempt, started_at, duration_ms)
       select id, created_at, 1, now(), 5 from d`,
      [id],
    );
    await pool.query('update webhooks set recovery_armed = true where id = $1', [id]);
    const removed = await api.request('DELETE', `${path}/${String(id)}`);
    expect([removed.status, removed.body.id, removed.body.url]).toEqual([200, id, url]);
    expect((await api.request('GET', `${path}/${String(id)}`)).status).toBe(404);
    expect((await api.request('DELETE', `${path}/${String(id)}`)).status).toBe(404);
    for (const table of ['webhook_deliveries', 'webhook_queue', 'webhook_attempts']) {
      expect((await pool.query(`select 1 from ${table}`)).rowCount).toBe(0);
    }
    const { rows } = await pool.query('select workflow_id from outbox');
    expect(rows).toEqual([{ workflow_id: `webhook/${String(id)}` }]);
  });
});
