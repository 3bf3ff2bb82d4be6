// POST /events validates every field, stores it, and finds or creates the one contact of the event.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi, type TestResponse } from '../../support/api.ts';
import { insertContacts } from '../../support/contacts.ts';

let api: TestApi;
let contactId: number;
beforeAll(async () => {
  api = await startTestApi();
  [contactId = 0] = await insertContacts(api.database.pool, api, 1);
});
afterAll(() => api.close());

const address = 'contact0@example.com';

function track(body: object, options: { token?: string | null; headers?: Record<string, string> } = {}) {
  return api.request('POST', '/v1/my/events', { body, ...options });
}

/** A valid event of the contact, with other fields. */
const order = (fields: object = {}) => ({ event: 'order_placed', contact_id: contactId, ...fields });

function errorsOf({ status, body }: TestResponse): unknown {
  expect({ status, code: body.code }).toEqual({ status: 422, code: 'validation_error' });
  return body.validation_errors;
}

async function count(sql: string, values: unknown[] = []): Promise<number> {
  const { rows } = await api.database.pool.query<{ count: number }>(`select count(*) ${sql}`, values);
  return rows[0]?.count ?? 0;
}

async function lastInteraction(id: number): Promise<string | undefined> {
  const { rows } = await api.database.pool.query<{ at: Date }>(
    'select last_interacted_at as at from contact_activity where contact_id = $1',
    [id],
  );
  return rows[0]?.at.toISOString();
}

describe('POST /events', () => {
  it('requires a key', async () => {
    expect((await track(order(), { token: null })).status).toBe(401);
  });

  it('stores and returns every field', async () => {
    const sent = order({
      contact_email: ' Contact0@Example.com ',
      amount: 12.5,
      resource_uid: 'o-1',
      resource_name: 'Order 1',
      resource_url: 'https://shop.example.com/orders/1',
      data: { items: [{ sku: 'a', count: 2 }], ключ: null },
      utm_source: 'news',
      utm_medium: 'email',
      utm_term: 't',
      utm_content: 'c',
      utm_campaign: 'spring',
      ip: '2001:DB8::1',
      user_agent:
        'Mozilla/5.0 (iPhone; CPU iPhone OS 16_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.5 Mobile/15E148 Safari/604.1',
      referrer: 'https://search.example.com/?q=bells',
      idempotency_key: 'every field',
    });
    const { status, body } = await track(sent);
    expect(status).toBe(201);
    const { contact_email: _, ip: __, ...same } = sent as Record<string, unknown>;
    expect(body).toMatchObject({
      ...same,
      account_id: api.accountId,
      user_id: null,
      chain_depth: 0,
      test: false,
      generated: false,
      ip: '2001:db8::1',
      browser: 'Safari',
      os: 'iOS',
      device_type: 'mobile',
    });
    const stored = await api.request('GET', `/v1/my/events/${Number(body.id)}`);
    expect(stored.body).toEqual(body);
  });

  it('returns null for fields that were not sent, and an empty object for data', async () => {
    const { body } = await track(order());
    const absent = ['amount', 'idempotency_key', 'resource_uid', 'resource_name', 'resource_url', 'ip'];
    absent.push('user_agent', 'browser', 'os', 'device_type', 'referrer', 'user_id');
    absent.push('utm_source', 'utm_medium', 'utm_term', 'utm_content', 'utm_campaign');
    for (const name of absent) expect({ name, value: body[name] }).toEqual({ name, value: null });
    expect(body.data).toEqual({});
  });

  it('records the user of a session', async () => {
    const { body } = await track(order(), { token: api.userJwt });
    expect(body.user_id).toBe(api.userId);
  });

  it('ignores read-only fields of an event that is sent back', async () => {
    const { body: first } = await track(order({ idempotency_key: 'sent back' }));
    const back = Object.fromEntries(Object.entries(first).filter(([, value]) => value !== null));
    const { status, body } = await track({ ...back, idempotency_key: 'sent back 2' });
    expect([status, body.id === first.id]).toEqual([201, false]);
  });

  const bad: [field: string, value: unknown, message: RegExp][] = [
    ['event', undefined, /required/],
    ['event', '', /must have 1 to 64 lower-case letters, digits and underscores/],
    ['event', 'Order', /must have 1 to 64 lower-case letters, digits and underscores/],
    ['event', '1order', /must have 1 to 64 lower-case letters, digits and underscores/],
    ['event', 'order placed', /must have 1 to 64 lower-case letters, digits and underscores/],
    ['event', 'order\n', /must have 1 to 64 lower-case letters, digits and underscores/],
    ['event', `o${'x'.repeat(64)}`, /must have 1 to 64 lower-case letters, digits and underscores/],
    ['event', 7, /must be a string/],
    ['contact_id', 0, /must be/],
    ['contact_id', 1.5, /must be an integer/],
    ['contact_id', '1', /must be/],
    ['contact_id', 2 ** 53, /must be/],
    ['contact_email', 'nobody', /not an email address/],
    ['contact_email', 'a@b.co, c@d.co', /one address/],
    ['idempotency_key', '', /1 to 128/],
    ['idempotency_key', 'k'.repeat(129), /1 to 128/],
    ['idempotency_key', 'a\tb', /1 to 128/],
    ['amount', '12', /must be a number/],
    ['amount', null, /must be a number/],
    ['resource_uid', 'x'.repeat(256), /at most 255/],
    ['resource_url', 'orders/1', /must be a URL/],
    ['resource_url', `https://a.co/${'x'.repeat(2_048)}`, /at most 2048/],
    ['test', 'yes', /true or false/],
    ['data', [], /must be an object/],
    ['data', 'x', /must be an object/],
    ['utm_source', 'x'.repeat(256), /at most 255/],
    ['ip', '1.2.3', /IP address/],
    ['ip', 'fe80::1%eth0', /IP address/],
    ['user_agent', 'x'.repeat(1_001), /at most 1000/],
    ['referrer', 'x'.repeat(2_049), /at most 2048/],
    ['occurred_at', 'yesterday', /date-time/],
    ['occurred_at', '0000-01-01T00:00:00Z', /last 10 years/],
    ['occurred_at', new Date(Date.now() + 120_000).toISOString(), /future/],
    ['colour', 'red', /not a known field/],
  ];
  it.each(bad)('refuses a bad %s: %.30s', async (field, value, message) => {
    const errors = errorsOf(await track({ ...order(), [field]: value })) as Record<string, string[]>;
    expect(Object.keys(errors)).toEqual([field]);
    expect(errors[field]?.join()).toMatch(message);
  });

  it('accepts names from 1 to 64 characters', async () => {
    for (const event of ['a', `a${'0_'.repeat(31)}b`]) {
      expect((await track(order({ event }))).body.event).toBe(event);
    }
  });

  it('measures data in bytes of JSON: accepts 32 KB, but not one byte more', async () => {
    // {"t":""} has 8 bytes; each of the letters has two.
    const letters = 'é'.repeat((32 * 1024 - 8) / 2);
    expect((await track(order({ data: { t: letters } }))).status).toBe(201);
    expect(errorsOf(await track(order({ data: { t: `${letters}x` } })))).toEqual({
      data: ['must have at most 32 KB of JSON'],
    });
  });

  it('refuses data nested deeper than 20 levels, and numbers that JSON cannot represent', async () => {
    const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
    const post = (data: string) =>
      api.request('POST', '/v1/my/events', {
        rawBody: `{"event":"deep","contact_id":${contactId},"data":${data}}`,
        headers: { 'Content-Type': 'application/json' },
      });
    expect((await post(nested(20))).status).toBe(201);
    expect(errorsOf(await post(nested(21)))).toEqual({ data: ['must not be nested deeper than 20 levels'] });
    expect(errorsOf(await post('{"a":[1e999]}'))).toEqual({
      data: ['must not contain a number larger than 1.8e308'],
    });
  });

  it('refuses a name that only Carillon tracks', async () => {
    expect(errorsOf(await track(order({ event: 'email_received' })))).toEqual({
      event: ['is reserved: Carillon tracks this event itself'],
    });
    expect((await track(order({ event: 'email_received_twice' }))).status).toBe(201);
  });

  it('adds a hundred names from test keys, but only for events whose contact exists', async () => {
    const { pool } = api.database;
    const [id = 0] = await insertContacts(pool, api, 1, 'named-');
    const names = () => count('from event_names where brand_id = $1', [api.brandId]);
    const before = await names();
    const post = (event: string, contact: object = { contact_id: id }) =>
      track({ event, ...contact }, { token: api.testApiKey });
    expect(errorsOf(await post('made_up', { contact_id: 999_999_999 }))).toEqual({
      contact_id: ['is not a contact of the brand'],
    });
    expect(errorsOf(await post('made_up', { contact_email: 'no-one@acme.test' }))).toEqual({
      contact_email: ['belongs to no contact'],
    });
    expect(await names()).toBe(before);
    expect((await post('by_test_key')).status).toBe(201);
    await pool.query(
      `insert into event_names (brand_id, name, by_test_key) select $1, 'test_' || n, true from generate_series(1, 99) n`,
      [api.brandId],
    );
    expect(errorsOf(await post('one_more'))).toEqual({
      event: ['is a new name, and the brand has 1,000 already, or 100 of test keys'],
    });
    expect([
      (await post('test_7')).status,
      (await track({ event: 'one_more', contact_id: id })).status,
    ]).toEqual([201, 201]);
  });

  it('refuses more than 1,000 different names of a brand, and still accepts the known ones', async () => {
    const { pool } = api.database;
    await pool.query(
      `insert into event_names (brand_id, name) select $1, 'name_' || n from generate_series(1, 999) n`,
      [api.other.brandId],
    );
    const [id = 0] = await insertContacts(pool, api.other, 1);
    const post = (event: string) => track({ event, contact_id: id }, { token: api.other.apiKey });
    const two = await Promise.all([post('name_1000'), post('name_1001')]);
    expect(two.map(({ status }) => status).sort()).toEqual([201, 422]);
    expect(errorsOf(await post('name_1002'))).toEqual({
      event: ['is a new name, and the brand has 1,000 already'],
    });
    expect((await post('name_7')).status).toBe(201);
    expect(await count('from event_names where brand_id = $1', [api.other.brandId])).toBe(1_000);
  });
});

describe('the contact of an event', () => {
  it('is required', async () => {
    expect(errorsOf(await track({ event: 'order_placed' }))).toEqual({
      contact_id: ['or contact_email is required'],
    });
  });

  it('may be named by address, in any case', async () => {
    const { body } = await track({ event: 'order_placed', contact_email: 'CONTACT0@example.COM' });
    expect(body.contact_id).toBe(contactId);
  });

  it('is refused if it belongs to another brand or does not exist', async () => {
    const [foreign = 0] = await insertContacts(api.database.pool, api.other, 1, 'foreign');
    for (const id of [foreign, 999_999_999]) {
      expect(errorsOf(await track({ event: 'order_placed', contact_id: id }))).toEqual({
        contact_id: ['is not a contact of the brand'],
      });
    }
  });

  it('is refused if id and address disagree, and no contact is created', async () => {
    await insertContacts(api.database.pool, api, 1, 'second');
    for (const contact_email of ['second0@example.com', 'unknown@example.com']) {
      expect(errorsOf(await track(order({ contact_email })))).toEqual({
        contact_email: ['is not the address of the contact in contact_id'],
      });
    }
    expect(await count(`from contacts where email_key = 'unknown@example.com'`)).toBe(0);
  });

  it('is created once for an unknown address, however many events arrive at once: subscribed, without an opt-in time', async () => {
    const post = (n: number) => track({ event: `visit_${n % 3}`, contact_email: 'New@Example.com' });
    const answers = await Promise.all(Array.from({ length: 30 }, (_, n) => post(n)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    const ids = new Set(answers.map(({ body }) => body.contact_id));
    expect(ids.size).toBe(1);
    const { rows } = await api.database.pool.query(
      `select id, email, email_subscribed, email_opt_in_at, source from contacts
       where brand_id = $1 and email_key = 'new@example.com'`,
      [api.brandId],
    );
    expect(rows).toEqual([
      {
        id: [...ids][0],
        email: 'New@example.com',
        email_subscribed: true,
        email_opt_in_at: null,
        source: 'event',
      },
    ]);
  });

  it('has the time of its newest event in last_interacted_at, written at most once a minute and not for test events', async () => {
    const [id = 0] = await insertContacts(api.database.pool, api, 1, 'active');
    const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString();
    const send = (fields: object) => track({ event: 'visit', contact_id: id, ...fields });
    await send({ test: true });
    expect(await lastInteraction(id)).toBeUndefined();
    const first = ago(3_600);
    await send({ occurred_at: first });
    expect(await lastInteraction(id)).toBe(first);
    await send({ occurred_at: ago(3_600 - 59) });
    await send({ occurred_at: ago(7_200) });
    expect(await lastInteraction(id)).toBe(first);
    const later = ago(3_600 - 61);
    await send({ occurred_at: later });
    expect(await lastInteraction(id)).toBe(later);
  });
});

describe('an unknown address with UNKNOWN_EVENT_CONTACTS=refuse', () => {
  it('is a 422 and creates no contact', async () => {
    const strict = await startTestApi({ env: { UNKNOWN_EVENT_CONTACTS: 'refuse' } });
    try {
      const body = { event: 'visit', contact_email: address };
      expect(errorsOf(await strict.request('POST', '/v1/my/events', { body }))).toEqual({
        contact_email: ['belongs to no contact'],
      });
      const [id] = await insertContacts(strict.database.pool, strict, 1);
      const known = await strict.request('POST', '/v1/my/events', { body });
      expect([known.status, known.body.contact_id]).toEqual([201, id]);
      expect((await strict.database.pool.query('select 1 from contacts')).rowCount).toBe(1);
    } finally {
      await strict.close();
    }
  });
});

describe('a test event', () => {
  it('is marked in the request, or comes from a test key', async () => {
    expect((await track(order({ test: true }))).body.test).toBe(true);
    expect((await track(order({ test: false }), { token: api.testApiKey })).body.test).toBe(true);
  });
});

describe('occurred_at', () => {
  it('becomes created_at, while updated_at is the time at which the event was accepted', async () => {
    const at = new Date(Date.UTC(new Date().getUTCFullYear() - 1, 4, 31, 23, 59, 59, 999));
    const { body } = await track(order({ occurred_at: at.toISOString().replace('Z', '+00:00') }));
    expect(body.created_at).toBe(at.toISOString());
    expect(Date.now() - Date.parse(String(body.updated_at))).toBeLessThan(60_000);
    const stored = await api.request('GET', `/v1/my/events/${Number(body.id)}`);
    expect(stored.body).toEqual(body);
  });

  it('may be up to 10 years ago', async () => {
    const years = (n: number, days: number) =>
      new Date(new Date().setUTCFullYear(new Date().getUTCFullYear() - n) + days * 86_400_000).toISOString();
    expect((await track(order({ occurred_at: years(10, 1) }))).status).toBe(201);
    expect(errorsOf(await track(order({ occurred_at: years(10, -1) })))).toEqual({
      occurred_at: ['must be in the last 10 years'],
    });
  });
});

describe('the utm parameters', () => {
  const utm = async (fields: object) => {
    const { status, body } = await track(order(fields));
    return [status, body.utm_source, body.utm_medium, body.utm_campaign];
  };

  it('come from the query of resource_url, or else of referrer, if they were not sent', async () => {
    expect(
      await utm({
        resource_url: 'https://a.co/?utm_source=page&utm_medium=',
        referrer: 'https://b.co/?utm_source=ref&utm_medium=cpc&utm_campaign=x%20y#utm_source=no',
      }),
    ).toEqual([201, 'page', 'cpc', 'x y']);
  });

  it('that were sent take precedence', async () => {
    expect(await utm({ utm_source: 'own', resource_url: 'https://a.co/?utm_source=page' })).toEqual([
      201,
      'own',
      null,
      null,
    ]);
  });

  it('are left out or cut if the query is broken or hostile', async () => {
    const long = 'x'.repeat(1_000);
    expect(
      await utm({ referrer: `https://b.co/?utm_source=%00&utm_medium=%ff%E0&utm_campaign=${long}` }),
    ).toEqual([201, null, '��', 'x'.repeat(255)]);
    expect(await utm({ referrer: 'utm_source=1 not a url' })).toEqual([201, null, null, null]);
  });
});
