import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi, type TestBody } from '../../support/api.ts';
import { startDnsServer, type TestDnsServer } from '../../support/dns/server.ts';
import { eventually } from '../../support/eventually.ts';
import { startReceiver, type Receiver } from '../../support/https-receiver.ts';
import { createTestRecovery, type TestRecovery } from '../../support/webhook-recovery.ts';
import { deliveriesOf, publishSent, rowOf, startWebhookLoop } from '../../support/webhooks.ts';

let api: TestApi;
let dns: TestDnsServer;
let old: Receiver;
let recovery: TestRecovery;
const path = '/v1/my/webhooks';
const url = 'https://hooks.example.test/carillon';

beforeAll(async () => {
  dns = await startDnsServer();
  api = await startTestApi({ env: { DNS_SERVERS: dns.address, EGRESS_ALLOW: '127.0.0.1/32' } });
  old = await startReceiver();
  recovery = createTestRecovery(api.database);
});
afterAll(async () => {
  await recovery.close();
  await old.close();
  await api.close();
  dns.close();
});
beforeEach(async () => {
  dns.zone = {
    'hooks.example.test': { A: ['93.184.216.34'] },
    'new.example.test': { A: ['93.184.216.35'] },
    'private.test': { A: ['10.0.0.1'] },
    'mixed.test': { A: ['93.184.216.34', '10.0.0.1'] },
    'broken.test': 'servfail',
  };
  old.requests.length = 0;
  old.answer = (_request, response) => void response.writeHead(500).end();
  await api.database.pool.query(
    'delete from webhooks; delete from webhook_deliveries; delete from webhook_queue; delete from outbox',
  );
});

async function create(at = url, events = ['email.sent']): Promise<TestBody> {
  const made = await api.request('POST', path, { body: { url: at, events } });
  expect(made.status).toBe(201);
  return made.body;
}

const patch = (id: unknown, body: unknown, token = api.apiKey) =>
  api.request('PATCH', `${path}/${String(id)}`, { body, token });

/** Runs the webhook loop until `check` holds. */
async function whileAttempting(check: () => Promise<void>): Promise<void> {
  const loop = await startWebhookLoop(api.database);
  await eventually(check).finally(() => loop.stop());
}

/** A webhook with one delivery that waits for a retry. */
async function failing(): Promise<number> {
  const id = Number((await create(old.url('/old', '127.0.0.1'))).id);
  await publishSent(api.database, api, [1]);
  await whileAttempting(async () => {
    expect(await deliveriesOf(api.database, id)).toMatchObject([{ status: 'retrying' }]);
  });
  await api.database.pool.query('delete from outbox');
  return id;
}

async function wakes(id: number): Promise<number> {
  const { rowCount } = await api.database.pool.query(
    `select 1 from outbox where kind = 'signal_with_start' and workflow_id = $1 and signal_name = 'wake'`,
    [`webhook/${id}`],
  );
  return rowCount ?? 0;
}

const tomorrow = () => new Date(Date.now() + 86_400_000);

describe('PATCH /webhooks/:id', () => {
  it('changes what is given and leaves the rest', async () => {
    const made = await create();
    const moved = await patch(made.id, { url: 'https://new.example.test/' });
    expect(moved.status).toBe(200);
    expect(moved.body).toEqual({
      ...made,
      url: 'https://new.example.test/',
      secret: expect.stringMatching(/^whsec_….{4}$/),
      updated_at: expect.any(String),
    });
    const heard = await patch(made.id, { events: ['email.failed', 'email.bounced', 'email.failed'] });
    expect(heard.body.events).toEqual(['email.failed', 'email.bounced']);
    expect(heard.body.url).toBe('https://new.example.test/');
    expect((await api.request('GET', `${path}/${String(made.id)}`)).body).toEqual(heard.body);
    expect(Date.parse(String(heard.body.updated_at))).toBeGreaterThan(Date.parse(String(made.updated_at)));
  });

  it('changes nothing where nothing is given, or what it has already', async () => {
    const made = await create();
    const before = await rowOf(api.database, Number(made.id));
    expect((await patch(made.id, {})).status).toBe(200);
    expect((await patch(made.id, { url, events: ['email.sent'], enabled: true })).status).toBe(200);
    expect(await rowOf(api.database, Number(made.id))).toEqual(before);
  });

  it('takes back what GET gave, also when the name is gone by then', async () => {
    const made = await create();
    const shown = (await api.request('GET', `${path}/${String(made.id)}`)).body;
    dns.zone = {};
    const off = await patch(made.id, { ...shown, enabled: false });
    expect([off.status, off.body.enabled]).toEqual([200, false]);
    const revealed = await api.request('GET', `${path}/${String(made.id)}?reveal=true`);
    expect(revealed.body.secret).toBe(made.secret);
  });

  it.each([
    ['http', { url: 'http://new.example.test/' }, { url: ['must begin with https://'] }],
    [
      'credentials',
      { url: 'https://a:b@new.example.test/' },
      { url: ['must not contain a user name or password'] },
    ],
    [
      'a service’s port',
      { url: 'https://new.example.test:5432/' },
      { url: ['must not use the port of another well-known service'] },
    ],
    ['a private address', { url: 'https://10.0.0.1/' }, { url: ['must lead to a public internet address'] }],
    [
      'loopback beside the one that is allowed',
      { url: 'http://127.0.0.2/' },
      { url: ['must lead to a public internet address'] },
    ],
    [
      'a name of a private address',
      { url: 'https://private.test/' },
      { url: ['must lead to a public internet address'] },
    ],
    [
      'a name of a public and a private one',
      { url: 'https://mixed.test/' },
      { url: ['must lead to a public internet address'] },
    ],
    [
      'a name without an address',
      { url: 'https://nobody.test/' },
      { url: ['has a host name without an address'] },
    ],
    [
      'a name whose servers fail',
      { url: 'https://broken.test/' },
      { url: ['has a host name that could not be looked up'] },
    ],
    ['what is no url', { url: 'nowhere' }, { url: ['is not a valid URL'] }],
    ['an empty list', { events: [] }, { events: ['must not be empty'] }],
    ['null as events', { events: null }, { events: ['must be an array'] }],
    ['a word as enabled', { enabled: 'no' }, { enabled: ['must be true or false'] }],
    ['null as enabled', { enabled: null }, { enabled: ['must be true or false'] }],
    ['an unknown field', { enabeld: false }, { enabeld: ['is not a known field; did you mean enabled?'] }],
  ])('refuses %s in words and changes nothing', async (_name, body, errors) => {
    const made = await create();
    const before = await rowOf(api.database, Number(made.id));
    const answer = await patch(made.id, { events: ['email.failed'], ...body });
    expect([answer.status, answer.body.code]).toEqual([422, 'validation_error']);
    expect(answer.body.validation_errors).toEqual(errors);
    expect(await rowOf(api.database, Number(made.id))).toEqual(before);
  });

  it('names the event that it does not know, and those it does', async () => {
    const made = await create();
    const answer = await patch(made.id, { events: ['email.sent', 'email.lost'] });
    expect(answer.status).toBe(422);
    expect(String(answer.body.validation_errors?.['events.1'])).toMatch(
      /^must be one of email\.sent, email\.delivered, .*webhook\.disabled$/,
    );
  });

  it('is for owners, admins and API keys, and for nobody of another tenant', async () => {
    const { id } = await create();
    const member = await api.addUser('member');
    const admin = await api.addUser('admin');
    expect((await patch(id, { enabled: false }, member.userJwt)).status).toBe(403);
    expect((await patch(id, { enabled: false }, api.other.apiKey)).status).toBe(404);
    // Nobody learns of names through a webhook that is not theirs.
    const asked = dns.questions.length;
    expect((await patch(id, { url: 'https://nobody.test/' }, api.other.apiKey)).status).toBe(404);
    expect(dns.questions).toHaveLength(asked);
    expect((await rowOf(api.database, Number(id)))?.enabled).toBe(true);
    expect((await patch(id, { enabled: false }, admin.userJwt)).status).toBe(200);
    expect((await patch(id, { enabled: true }, api.userJwt)).status).toBe(200);
  });
});

describe('off and on', () => {
  it('raise the generation and say when and why', async () => {
    const { id } = await create();
    const off = await patch(id, { enabled: false });
    expect(off.body).toMatchObject({ enabled: false, disabled_reason: 'manual' });
    expect(Math.abs(Date.parse(String(off.body.disabled_at)) - Date.now())).toBeLessThan(10_000);
    expect((await rowOf(api.database, Number(id)))?.generation).toBe(2);
    const again = await patch(id, { enabled: false });
    expect(again.body).toEqual(off.body);
    expect((await rowOf(api.database, Number(id)))?.generation).toBe(2);
    const on = await patch(id, { enabled: true });
    expect(on.body).toMatchObject({ enabled: true, disabled_at: null, disabled_reason: null });
    expect((await rowOf(api.database, Number(id)))?.generation).toBe(3);
  });

  it('begin anew after three days of failure turned it off', async () => {
    const { id } = await create();
    await api.database.pool.query(
      `update webhooks set enabled = false, generation = 7, failing_since = now() - interval '3 days',
         last_failure_at = now(), warned_at = now(), disabled_at = now(), disabled_reason = 'failing' where id = $1`,
      [id],
    );
    expect((await patch(id, { events: ['email.sent'] })).body.disabled_reason).toBe('failing');
    expect((await patch(id, { enabled: true })).body).toMatchObject({
      enabled: true,
      failing_since: null,
      disabled_at: null,
      disabled_reason: null,
    });
    expect(await rowOf(api.database, Number(id))).toMatchObject({
      generation: 8,
      last_failure_at: null,
      warned_at: null,
    });
  });

  it('wait for whoever is changing the row, and go on from there', async () => {
    const { id } = await create();
    const other = await api.database.pool.connect();
    await other.query('begin');
    await other.query(
      `update webhooks set enabled = false, generation = 5, disabled_reason = 'failing' where id = $1`,
      [id],
    );
    const asked = patch(id, { enabled: true });
    await eventually(async () => {
      const { rowCount } = await other.query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      expect(rowCount).toBe(1);
    });
    await other.query('commit');
    other.release();
    expect((await asked).body).toMatchObject({ enabled: true, disabled_reason: null });
    expect((await rowOf(api.database, Number(id)))?.generation).toBe(6);
  });

  it('count each switch once, however many are asked for at once', async () => {
    const { id } = await create();
    await Promise.all(Array.from({ length: 10 }, () => patch(id, { enabled: false })));
    expect((await rowOf(api.database, Number(id)))?.generation).toBe(2);
  });

  it('end what waits for a retry, and wake the recovery for it', async () => {
    const id = await failing();
    await patch(id, { enabled: false });
    expect(await wakes(id)).toBe(1);
    expect(await recovery.goRound(id)).toBe(0);
    const ended = { status: 'failed', last_error: 'webhook_off', next_attempt_at: null };
    expect(await deliveriesOf(api.database, id)).toMatchObject([ended]);
    expect((await rowOf(api.database, id))?.recovery_armed).toBe(false);
  });

  it('end it also where on follows at once', async () => {
    const id = await failing();
    await patch(id, { enabled: false });
    await patch(id, { enabled: true });
    await recovery.goRound(id, tomorrow());
    expect(await deliveriesOf(api.database, id)).toMatchObject([
      { status: 'failed', last_error: 'webhook_off' },
    ]);
    expect(old.requests).toHaveLength(1);
  });

  it('end what is queued at its attempt; what happens while off is told to nobody', async () => {
    const id = Number((await create(old.url('/old', '127.0.0.1'))).id);
    await publishSent(api.database, api, [1]);
    await patch(id, { enabled: false });
    expect(await publishSent(api.database, api, [2])).toBe(0);
    await patch(id, { enabled: true });
    await publishSent(api.database, api, [3]);
    await whileAttempting(async () => {
      expect(await deliveriesOf(api.database, id)).toMatchObject([
        { status: 'failed', last_error: 'webhook_off', attempt_count: 0 },
        { status: 'retrying' },
      ]);
    });
    const bodies = old.requests.map(({ body }) => JSON.parse(body) as { data: { message_id: number } });
    expect(bodies.map(({ data }) => data.message_id)).toEqual([3]);
  });
});

describe('a new url', () => {
  it('gets what waits for a retry, and begins anew with continuous failure', async () => {
    const id = await failing();
    const fresh = await startReceiver();
    const moved = await patch(id, { url: fresh.url('/fresh', '127.0.0.1') });
    expect(moved.body.failing_since).toBeNull();
    expect(await wakes(id)).toBe(1);
    expect(await recovery.goRound(id, tomorrow())).toBe(1);
    await fresh.close();
    expect(fresh.requests.map((request) => request.url)).toEqual(['/fresh']);
    expect(fresh.requests[0]?.headers['webhook-id']).toBe(old.requests[0]?.headers['webhook-id']);
    expect(old.requests).toHaveLength(1);
    expect(await deliveriesOf(api.database, id)).toMatchObject([{ status: 'delivered', attempt_count: 2 }]);
  });

  it('wakes nobody where nothing waits', async () => {
    const { id } = await create();
    await patch(id, { url: 'https://new.example.test/', enabled: false });
    expect(await wakes(Number(id))).toBe(0);
  });

  it('leaves what waits alone where only the events change', async () => {
    const id = await failing();
    await patch(id, { events: ['email.failed'] });
    expect(await wakes(id)).toBe(0);
    expect(await deliveriesOf(api.database, id)).toMatchObject([{ status: 'retrying' }]);
    expect((await rowOf(api.database, id))?.failing_since).not.toBeNull();
  });
});
