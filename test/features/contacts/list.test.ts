// The contact list and timeline show only the caller's brand, and filter and page exactly.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi, type TestBody } from '../../support/api.ts';

const PATH = '/v1/my/contacts';
let api: TestApi;
let listId: number;
let ada: TestBody;

async function created(path: string, body: unknown): Promise<TestBody> {
  const response = await api.request('POST', path, { body });
  expect(response.status).toBe(201);
  return response.body;
}

beforeAll(async () => {
  api = await startTestApi();
  listId = Number((await created('/v1/my/lists', { name: 'News' })).id);
  ada = await created(PATH, {
    email: 'ada@example.test',
    phone: '+14155550123',
    first_name: 'Ada',
    last_name: 'Lovelace',
    source: 'shop',
    list_ids: [listId],
    data: { plan: 'pro' },
  });
  await created(PATH, { email: 'grace_1@example.test', first_name: 'Grace', last_name: 'Hopper' });
  await created(PATH, {
    channels_attributes: [{ kind: 'email', value: 'graceX1@example.test', subscribed: false }],
  });
  await created('/v1/my/suppressions', { email: 'grace_1@example.test' });
  await api.database.pool.query(`update contacts set email_verified = true where email = 'ada@example.test'`);
});
afterAll(() => api.close());

async function found(query: string): Promise<unknown[]> {
  const response = await api.request('GET', `${PATH}?${query}`);
  expect(response.status).toBe(200);
  expect(response.headers.get('x-total-count')).toBe(String(response.list.length));
  return response.list.map((contact) => (contact.channels as unknown as TestBody[])[0]?.value);
}

const [ADA, GRACE, OFF] = ['ada@example.test', 'grace_1@example.test', 'graceX1@example.test'];

describe('GET /contacts', () => {
  it('lists the newest first, with the total', async () => {
    expect(await found('')).toEqual([OFF, GRACE, ADA]);
    const page = await api.request('GET', `${PATH}?limit=1&page=2`);
    expect(page.list).toHaveLength(1);
    expect(page.headers.get('x-total-count')).toBe('3');
  });

  it.each([
    ['email=ADA@Example.test', [ADA]],
    ['email=nobody', []],
    ['phone=%2B14155550123', [ADA]],
    ['subscribed=false', [OFF]],
    ['subscribed=true', [GRACE, ADA]],
    ['source=shop', [ADA]],
    ['verification_status=verified', [ADA]],
    ['verification_status=suppressed', [GRACE]],
    ['verification_status=unverified', [OFF]],
    ['created_after=2020-01-01T00:00:00Z', [OFF, GRACE, ADA]],
    ['created_before=2020-01-01T00:00:00Z', []],
    ['search=ADA', [ADA]],
    ['search=ada%20love', [ADA]],
    ['search=hopp', [GRACE]],
    ['search=grace_', [GRACE]],
    ['search=%25', []],
    ['search=grace&subscribed=true', [GRACE]],
  ])('filters by %s', async (query, expected) => {
    expect(await found(query)).toEqual(expected);
  });

  it('filters by list and by segment', async () => {
    const filters = [{ name: 'data.plan', predicate: 'eq', value: 'pro' }];
    const segment = await created('/v1/my/segments', { name: 'Pro', filters });
    expect(await found(`list_id=${listId}`)).toEqual([ADA]);
    expect(await found(`segment_id=${String(segment.id)}&list_id=${listId}`)).toEqual([ADA]);
    expect(await found('list_id=999999')).toEqual([]);
    const unknown = await api.request('GET', `${PATH}?segment_id=999999`);
    expect([unknown.status, unknown.body.validation_errors]).toEqual([
      422,
      { segment_id: ['is not a segment of the brand'] },
    ]);
  });

  it("shows only the brand's own contacts", async () => {
    expect((await api.request('GET', PATH, { token: api.other.apiKey })).list).toEqual([]);
  });
});

describe('GET /contacts/{id}/timeline', () => {
  const timeline = (query = '') => api.request('GET', `${PATH}/${String(ada.id)}/timeline${query}`);

  it('has events, messages and subscriptions, newest first, including those of a former address', async () => {
    const message = { channel: 'email', to: 'ada@example.test', subject: 'Hello', html: 'Hi' };
    const sent = await created('/v1/my/messages', message);
    await api.request('PATCH', `${PATH}/${String(ada.id)}`, { body: { email: 'countess@example.test' } });
    await created('/v1/my/events', {
      event: 'order_placed',
      contact_id: ada.id,
      amount: 12.5,
      data: { n: 1 },
    });
    await api.request('PATCH', `${PATH}/${String(ada.id)}`, {
      body: { channels_attributes: [{ kind: 'phone', subscribed: false }] },
    });
    const { list, headers } = await timeline();
    const shown = list.map(({ type, event, message: mail, subscription }) => [
      type,
      event?.event ?? mail?.subject ?? [subscription?.channel, subscription?.subscribed],
    ]);
    expect(shown.slice(0, 2)).toEqual([
      ['subscription', ['sms', false]],
      ['event', 'order_placed'],
    ]);
    expect(shown).toContainEqual(['message', 'Hello']);
    expect(shown).toContainEqual(['subscription', ['sms', true]]);
    expect(shown).toContainEqual(['subscription', ['email', true]]);
    expect(list.find(({ type }) => String(type) === 'message')).toMatchObject({ id: sent.id });
    expect(headers.get('x-total-count')).toBe('5');
  });

  it('returns pages, and items before a time', async () => {
    const all = (await timeline()).list;
    const first = await timeline('?limit=2');
    const second = await timeline('?limit=2&page=2');
    expect([...first.list, ...second.list]).toEqual(all.slice(0, 4));
    expect(first.headers.get('link')).toContain('page=2');
    const before = encodeURIComponent(String(all[1]?.occurred_at));
    expect((await timeline(`?before=${before}`)).list[0]).toEqual(all[2]);
    expect((await timeline('?page=10000')).list).toEqual([]);
  });
});
