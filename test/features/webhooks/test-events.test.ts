// A test event of any type reaches only the given webhook, signed and retried like a real event.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { eventCatalogue, eventTypes } from '../../../src/features/webhooks/catalogue.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { eventually } from '../../support/eventually.ts';
import { startReceiver, type ReceivedRequest, type Receiver } from '../../support/https-receiver.ts';
import { deliveriesOf, startWebhookLoop, type RunningLoop } from '../../support/webhooks.ts';

let api: TestApi;
let receiver: Receiver;
let loop: RunningLoop | null = null;
const path = '/v1/my/webhooks';

beforeAll(async () => {
  api = await startTestApi({ env: { EGRESS_ALLOW: '127.0.0.1/32' } });
});
afterAll(() => api.close());
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(async () => {
  jest.restoreAllMocks();
  await loop?.stop();
  loop = null;
  await receiver.close();
  await api.database.pool.query(
    'delete from webhooks; delete from webhook_deliveries; delete from webhook_queue',
  );
});

async function create(events = ['email.sent']): Promise<{ id: number; secret: string }> {
  const body = { url: receiver.url('/hook', '127.0.0.1'), events };
  const response = await api.request('POST', path, { body });
  return { id: Number(response.body.id), secret: String(response.body.secret) };
}

const sendTest = (id: number, body?: unknown, headers: Record<string, string> = {}, token = api.apiKey) =>
  api.request('POST', `${path}/${id}/test`, { body, headers, token });

async function received(count: number): Promise<ReceivedRequest[]> {
  return eventually(() => {
    expect(receiver.requests).toHaveLength(count);
    return receiver.requests;
  });
}

interface SentEvent {
  type: keyof typeof eventCatalogue;
  timestamp: string;
  data: Record<string, unknown>;
}

function verified(secret: string, { body, headers }: ReceivedRequest): SentEvent {
  return new Webhook(secret).verify(body, headers as Record<string, string>) as SentEvent;
}

/** The values of all id fields, at any depth. */
function idsOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap(idsOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => (/(^|_)id$/.test(name) ? [inner] : idsOf(inner)));
}

describe('the catalogue of events', () => {
  it('has the 8 email and 13 account events of the interface', () => {
    expect(eventTypes.filter((type) => type.startsWith('email.'))).toHaveLength(8);
    expect(eventTypes.filter((type) => !type.startsWith('email.'))).toHaveLength(13);
  });

  it.each(eventTypes)(
    'has a sample of %s that fits its schema, is marked as a test and has no ids',
    (type) => {
      const { data, sample } = eventCatalogue[type];
      const sampled = sample(new Date('2026-03-01T10:00:00Z'));
      expect(data.strict().safeParse(sampled).error).toBeUndefined();
      expect(sampled.test).toBe(true);
      expect(idsOf(sampled).every((id) => id === null)).toBe(true);
    },
  );
});

describe('POST /webhooks/:id/test', () => {
  it('returns a pending delivery of email.delivered', async () => {
    const { id } = await create();
    const before = Date.now();
    const answer = await sendTest(id);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      id: expect.any(Number),
      webhook_id: id,
      event_id: expect.stringMatching(/^evt_[0-9a-f]{32}$/),
      type: 'email.delivered',
      status: 'pending',
      response_code: null,
      attempt_count: 0,
      next_attempt_at: null,
      last_error: null,
      test: true,
      created_at: expect.any(String),
    });
    expect(Math.abs(Date.parse(String(answer.body.created_at)) - before)).toBeLessThan(10_000);
  });

  it('sends every type, subscribed to or not, with a signature that any library verifies', async () => {
    const { id, secret } = await create(['email.sent']);
    loop = await startWebhookLoop(api.database);
    for (const type of eventTypes) expect((await sendTest(id, { type })).body.type).toBe(type);
    const requests = await received(eventTypes.length);
    const events = requests.map((request) => verified(secret, request));
    expect(events.map(({ type }) => type).sort()).toEqual([...eventTypes].sort());
    for (const [index, { type, timestamp, data, ...rest }] of events.entries()) {
      expect(rest).toEqual({});
      expect(timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(eventCatalogue[type].data.strict().safeParse(data).error).toBeUndefined();
      expect(data.test).toBe(true);
      expect(idsOf(data).every((each) => each === null)).toBe(true);
      expect(requests[index]).toMatchObject({
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': 'Carillon-Webhooks/1',
          'webhook-id': expect.stringMatching(/^evt_/),
        },
      });
    }
    expect(new Set(requests.map(({ headers }) => headers['webhook-id'])).size).toBe(eventTypes.length);
  }, 60_000);

  it('sends a request that receivers reject if it is 5 minutes off, changed, or signed with another secret', async () => {
    const { id, secret } = await create();
    loop = await startWebhookLoop(api.database);
    const { body } = await sendTest(id);
    const request = (await received(1))[0] as ReceivedRequest;
    expect(request.headers['webhook-id']).toBe(body.event_id);
    expect(verified(secret, request).type).toBe('email.delivered');
    const sentAt = Number(request.headers['webhook-timestamp']) * 1_000;
    for (const [seconds, fits] of [
      [-301, false],
      [-299, true],
      [299, true],
      [301, false],
    ] as const) {
      jest.spyOn(Date, 'now').mockReturnValue(sentAt + seconds * 1_000);
      if (fits) expect(verified(secret, request).type).toBe('email.delivered');
      else expect(() => verified(secret, request)).toThrow();
      jest.restoreAllMocks();
    }
    expect(() => verified(secret, { ...request, body: `${request.body} ` })).toThrow();
    const { secret: another } = await create();
    expect(() => verified(another, request)).toThrow();
  });

  it('is retried like any other event', async () => {
    const { id } = await create();
    receiver.answer = (_request, response) => void response.writeHead(500).end();
    loop = await startWebhookLoop(api.database);
    await sendTest(id, { type: 'email.bounced' });
    await eventually(async () => {
      expect(await deliveriesOf(api.database, id)).toMatchObject([{ status: 'retrying', test: true }]);
    });
  });

  it('sends the event to the given webhook only', async () => {
    const { id } = await create(['email.delivered']);
    const other = await create(['email.delivered']);
    await sendTest(id);
    expect(await deliveriesOf(api.database, id)).toHaveLength(1);
    expect(await deliveriesOf(api.database, other.id)).toHaveLength(0);
  });

  it('sends one event for requests with the same Idempotency-Key', async () => {
    const { id } = await create();
    const key = { 'Idempotency-Key': 'test-1' };
    const answers = await Promise.all([
      sendTest(id, {}, key),
      sendTest(id, { type: 'email.delivered' }, key),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(answers[0]?.body).toEqual(answers[1]?.body);
    expect(await deliveriesOf(api.database, id)).toHaveLength(1);
    const other = await sendTest(id, { type: 'email.sent' }, key);
    expect([other.status, other.body.code]).toEqual([409, 'idempotency_conflict']);
  });

  it.each([
    ['an unknown type', { type: 'email.lost' }, 'type'],
    ['null as type', { type: null }, 'type'],
    ['an unknown field', { kind: 'email.sent' }, 'kind'],
  ])('rejects %s and sends nothing', async (_name, body, field) => {
    const { id } = await create();
    const answer = await sendTest(id, body);
    expect([answer.status, answer.body.code]).toEqual([422, 'validation_error']);
    expect(Object.keys(answer.body.validation_errors ?? {})).toEqual([field]);
    expect(await deliveriesOf(api.database, id)).toHaveLength(0);
  });

  it('is a 409 that says what to do if the webhook is off', async () => {
    const { id } = await create();
    await api.request('PATCH', `${path}/${id}`, { body: { enabled: false } });
    const answer = await sendTest(id);
    expect([answer.status, answer.body.code]).toEqual([409, 'conflict']);
    expect(answer.body.message).toBe('the webhook is off: turn it on first');
    expect(await deliveriesOf(api.database, id)).toHaveLength(0);
  });

  it('is allowed to owners, admins and API keys of the tenant only', async () => {
    const { id } = await create();
    const member = await api.addUser('member');
    const admin = await api.addUser('admin');
    expect((await sendTest(id, {}, {}, member.userJwt)).status).toBe(403);
    expect((await sendTest(id, {}, {}, api.other.apiKey)).status).toBe(404);
    expect((await sendTest(id + 1_000)).status).toBe(404);
    expect(await deliveriesOf(api.database, id)).toHaveLength(0);
    expect((await sendTest(id, {}, {}, admin.userJwt)).status).toBe(200);
    expect((await sendTest(id, {}, {}, api.userJwt)).status).toBe(200);
  });
});
