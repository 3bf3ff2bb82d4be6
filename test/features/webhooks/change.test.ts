// A change of a webhook is validated, and decides what happens to its queued deliveries and waiting retries.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi, type TestBody } from '../../support/api.ts';
import { startDnsServer, type TestDnsServer } from '../../support/dns/server.ts';
import { eventually } from '../../support/eventually.ts';
import { startReceiver, type Receiver } from '../../support/https-receiver.ts';
import { createTestRecovery, type TestRecovery } from '../../support/webhook-recovery.ts';
import { deliveriesOf, publishSent, rowOf, startWebhookLoop } from '../../support/webhooks.ts';

let api: TestApi;
let dns: TestDnsServer;
let formerReceiver: Receiver;
let recovery: TestRecovery;
const path = '/v1/my/webhooks';
const url = 'https://hooks.example.test/carillon';

beforeAll(async () => {
  dns = await startDnsServer();
  api = await startTestApi({ env: { DNS_SERVERS: dns.address, EGRESS_ALLOW: '127.0.0.1/32' } });
  formerReceiver = await startReceiver();
  recovery = createTestRecovery(api.database);
});
afterAll(async () => {
  await recovery.close();
  await formerReceiver.close();
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
  formerReceiver.requests.length = 0;
  formerReceiver.answer = (_request, response) => void response.writeHead(500).end();
  await api.database.pool.query(
    'delete from webhooks; delete from webhook_deliveries; delete from webhook_queue; delete from outbox',
  );
});

async function create(at = url, events = ['email.sent']): Promise<TestBody> {
  const response = await api.request('POST', path, { body: { url: at, events } });
  expect(response.status).toBe(201);
  return response.body;
}

const patch = (id: unknown, body: unknown, token = api.apiKey) =>
  api.request('PATCH', `${path}/${String(id)}`, { body, token });

/** Runs the webhook loop until `check` passes. */
async function whileAttempting(check: () => Promise<void>): Promise<void> {
  const loop = await startWebhookLoop(api.database);
  try {
    await eventually(check);
  } finally {
    await loop.stop();
  }
}

/** Creates a webhook with one delivery that waits for a retry. */
async function createFailing(): Promise<number> {
  const id = Number((await create(formerReceiver.url('/old', '127.0.0.1'))).id);
  await publishSent(api.database, api, [1]);
  await whileAttempting(async () => {
    expect(await deliveriesOf(api.database, id)).toMatchObject([{ status: 'retrying' }]);
  });
  await api.database.pool.query('delete from outbox');
  return id;
}

async function countWakes(id: number): Promise<number> {
  const { rowCount } = await api.database.pool.query(
    `select 1 from outbox where kind = 'signal_with_start' and workflow_id = $1 and signal_name = 'wake'`,
    [`webhook/${id}`],
  );
  return rowCount ?? 0;
}

const tomorrow = () => new Date(Date.now() + 86_400_000);

describe('PATCH /webhooks/:id', () => {
  it('changes the given fields and leaves the others', async () => {
    const webhook = await create();
    const moved = await patch(webhook.id, { url: 'https://new.example.test/' });
    expect(moved.status).toBe(200);
    expect(moved.body).toEqual({
      ...webhook,
      url: 'https://new.example.test/',
      secret: expect.stringMatching(/^whsec_….{4}$/),
      updated_at: expect.any(String),
    });
    const changed = await patch(webhook.id, { events: ['email.failed', 'email.bounced', 'email.failed'] });
    expect(changed.body.events).toEqual(['email.failed', 'email.bounced']);
    expect(changed.body.url).toBe('https://new.example.test/');
    expect((await api.request('GET', `${path}/${String(webhook.id)}`)).body).toEqual(changed.body);
    expect(Date.parse(String(changed.body.updated_at))).toBeGreaterThan(
      Date.parse(String(webhook.updated_at)),
    );
  });

  it('changes nothing if no field is given or all are equal', async () => {
    const webhook = await create();
    const before = await rowOf(api.database, Number(webhook.id));
    expect((await patch(webhook.id, {})).status).toBe(200);
    expect((await patch(webhook.id, { url, events: ['email.sent'], enabled: true })).status).toBe(200);
    expect(await rowOf(api.database, Number(webhook.id))).toEqual(before);
  });

  it('accepts the resource that GET returned, even if its host no longer resolves', async () => {
    const webhook = await create();
    const shown = (await api.request('GET', `${path}/${String(webhook.id)}`)).body;
    dns.zone = {};
    const off = await patch(webhook.id, { ...shown, enabled: false });
    expect([off.status, off.body.enabled]).toEqual([200, false]);
    const revealed = await api.request('GET', `${path}/${String(webhook.id)}?reveal=true`);
    expect(revealed.body.secret).toBe(webhook.secret);
  });

  it.each([
    ['http', { url: 'http://new.example.test/' }, { url: ['must begin with https://'] }],
    [
      'credentials',
      { url: 'https://a:b@new.example.test/' },
      { url: ['must not contain a user name or password'] },
    ],
    [
      'the port of another service',
      { url: 'https://new.example.test:5432/' },
      { url: ['must not use the port of another well-known service'] },
    ],
    ['a private address', { url: 'https://10.0.0.1/' }, { url: ['must lead to a public internet address'] }],
    [
      'a loopback address next to the allowed one',
      { url: 'http://127.0.0.2/' },
      { url: ['must lead to a public internet address'] },
    ],
    [
      'a name with a private address',
      { url: 'https://private.test/' },
      { url: ['must lead to a public internet address'] },
    ],
    [
      'a name with a public and a private address',
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
    ['an invalid URL', { url: 'nowhere' }, { url: ['is not a valid URL'] }],
    ['an empty list', { events: [] }, { events: ['must not be empty'] }],
    ['null as events', { events: null }, { events: ['must be an array'] }],
    ['a word as enabled', { enabled: 'no' }, { enabled: ['must be true or false'] }],
    ['null as enabled', { enabled: null }, { enabled: ['must be true or false'] }],
    ['an unknown field', { enabeld: false }, { enabeld: ['is not a known field; did you mean enabled?'] }],
  ])('rejects %s with a readable message and changes nothing', async (_name, body, errors) => {
    const webhook = await create();
    const before = await rowOf(api.database, Number(webhook.id));
    const answer = await patch(webhook.id, { events: ['email.failed'], ...body });
    expect([answer.status, answer.body.code]).toEqual([422, 'validation_error']);
    expect(answer.body.validation_errors).toEqual(errors);
    expect(await rowOf(api.database, Number(webhook.id))).toEqual(before);
  });

  it('names the unknown type of event and lists the known ones', async () => {
    const webhook = await create();
    const answer = await patch(webhook.id, { events: ['email.sent', 'email.lost'] });
    expect(answer.status).toBe(422);
    expect(String(answer.body.validation_errors?.['events.1'])).toMatch(
      /^must be one of email\.sent, email\.delivered, .*webhook\.disabled$/,
    );
  });

  it('is allowed to owners, admins and API keys of the tenant only', async () => {
    const { id } = await create();
    const member = await api.addUser('member');
    const admin = await api.addUser('admin');
    expect((await patch(id, { enabled: false }, member.userJwt)).status).toBe(403);
    expect((await patch(id, { enabled: false }, api.other.apiKey)).status).toBe(404);
    // Another tenant's request must not cause a look-up, which would reveal whether a name exists.
    const asked = dns.questions.length;
    expect((await patch(id, { url: 'https://nobody.test/' }, api.other.apiKey)).status).toBe(404);
    expect(dns.questions).toHaveLength(asked);
    expect((await rowOf(api.database, Number(id)))?.enabled).toBe(true);
    expect((await patch(id, { enabled: false }, admin.userJwt)).status).toBe(200);
    expect((await patch(id, { enabled: true }, api.userJwt)).status).toBe(200);
  });
});

describe('turning a webhook off or on', () => {
  it('raises the generation and shows when and why the webhook was turned off', async () => {
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

  it('resets the failure after three days of failure turned the webhook off', async () => {
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

  it('waits for a concurrent change of the row and builds on it', async () => {
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

  it('raises the generation once for concurrent equal requests', async () => {
    const { id } = await create();
    await Promise.all(Array.from({ length: 10 }, () => patch(id, { enabled: false })));
    expect((await rowOf(api.database, Number(id)))?.generation).toBe(2);
  });

  it('ends waiting retries, and wakes the recovery to do so', async () => {
    const id = await createFailing();
    await patch(id, { enabled: false });
    expect(await countWakes(id)).toBe(1);
    expect(await recovery.goRound(id)).toBe(0);
    const ended = { status: 'failed', last_error: 'webhook_off', next_attempt_at: null };
    expect(await deliveriesOf(api.database, id)).toMatchObject([ended]);
    expect((await rowOf(api.database, id))?.recovery_armed).toBe(false);
  });

  it('ends waiting retries even if the webhook is turned on again at once', async () => {
    const id = await createFailing();
    await patch(id, { enabled: false });
    await patch(id, { enabled: true });
    await recovery.goRound(id, tomorrow());
    expect(await deliveriesOf(api.database, id)).toMatchObject([
      { status: 'failed', last_error: 'webhook_off' },
    ]);
    expect(formerReceiver.requests).toHaveLength(1);
  });

  it('ends queued deliveries without an attempt, and sends no event that occurs while the webhook is off', async () => {
    const id = Number((await create(formerReceiver.url('/old', '127.0.0.1'))).id);
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
    const bodies = formerReceiver.requests.map(
      ({ body }) => JSON.parse(body) as { data: { message_id: number } },
    );
    expect(bodies.map(({ data }) => data.message_id)).toEqual([3]);
  });
});

describe('changing the url', () => {
  it('sends waiting retries to the new url and resets the failure', async () => {
    const id = await createFailing();
    const fresh = await startReceiver();
    const moved = await patch(id, { url: fresh.url('/fresh', '127.0.0.1') });
    expect(moved.body.failing_since).toBeNull();
    expect(await countWakes(id)).toBe(1);
    expect(await recovery.goRound(id, tomorrow())).toBe(1);
    await fresh.close();
    expect(fresh.requests.map((request) => request.url)).toEqual(['/fresh']);
    expect(fresh.requests[0]?.headers['webhook-id']).toBe(formerReceiver.requests[0]?.headers['webhook-id']);
    expect(formerReceiver.requests).toHaveLength(1);
    expect(await deliveriesOf(api.database, id)).toMatchObject([{ status: 'delivered', attempt_count: 2 }]);
  });

  it('wakes no recovery if no retry is waiting', async () => {
    const { id } = await create();
    await patch(id, { url: 'https://new.example.test/', enabled: false });
    expect(await countWakes(Number(id))).toBe(0);
  });

  it('leaves waiting retries unchanged if only the events change', async () => {
    const id = await createFailing();
    await patch(id, { events: ['email.failed'] });
    expect(await countWakes(id)).toBe(0);
    expect(await deliveriesOf(api.database, id)).toMatchObject([{ status: 'retrying' }]);
    expect((await rowOf(api.database, id))?.failing_since).not.toBeNull();
  });
});
