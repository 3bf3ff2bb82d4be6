// Every predicate of a contact filter is validated, and finds exactly the contacts it describes.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi, type TestTenant } from '../../support/api.ts';
import { writeRecipients } from '../../support/campaign-requests.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.database.pool.query(
    'truncate contacts, contact_events, contact_engagement, event_names, lists, segments cascade',
  );
});

interface Given {
  columns?: Record<string, unknown>;
  data?: Record<string, unknown>;
}

/** Stores contacts. @returns their ids */
async function store(given: Given[], { accountId, brandId }: TestTenant = api): Promise<number[]> {
  const ids: number[] = [];
  for (const { columns = {}, data = {} } of given) {
    const names = Object.keys(columns);
    const { rows } = await api.database.pool.query<{ id: number }>(
      `insert into contacts (account_id, brand_id, data${names.map((name) => `, ${name}`).join('')})
       values ($1, $2, $3${names.map((_, index) => `, $${index + 4}`).join('')}) returning id`,
      [accountId, brandId, JSON.stringify(data), ...Object.values(columns)],
    );
    ids.push(rows[0]?.id ?? 0);
  }
  return ids;
}

const preview = (filters: unknown[], token: string = api.apiKey) =>
  api.request('POST', '/v1/my/segments/preview', { body: { filters }, token });

/** The positions of the contacts that the filters select. */
async function selected(ids: number[], filters: unknown[]): Promise<number[]> {
  const response = await preview(filters);
  expect([response.status, response.text]).toEqual([200, expect.any(String)]);
  const sample = response.body.sample as unknown as { id: number }[];
  expect(response.body.count).toBe(sample.length);
  return sample.map(({ id }) => ids.indexOf(id)).sort((one, other) => one - other);
}

const filter = (name: string, predicate: string, value?: unknown) => ({ name, predicate, value });

describe('text', () => {
  const rules: [predicate: string, value: unknown, expected: number[]][] = [
    ['eq', 'Ada', [0]],
    ['not_eq', 'Ada', [1, 2, 3, 4]],
    ['in', ['Ada', 'ada', 'x'], [0, 1]],
    ['not_in', ['Ada', 'ada'], [2, 3, 4]],
    ['cont', 'D', [0, 1]],
    ['not_cont', 'D', [2, 3, 4]],
    ['cont', '_', [2]],
    ['cont', '%', [2]],
    ['cont', '\\', [2]],
    ['start', 'a', [0, 1]],
    ['end', 'A', [0, 1]],
    ['end', '%', []],
    ['present', undefined, [0, 1, 2]],
    ['blank', undefined, [3, 4]],
  ];
  const values = ['Ada', 'ada', '1_0%\\x', '', null];

  it.each(rules)('of a column: %s %j selects %j', async (predicate, value, expected) => {
    const ids = await store(values.map((first_name) => ({ columns: { first_name } })));
    expect(await selected(ids, [filter('first_name', predicate, value)])).toEqual(expected);
  });

  it.each(rules)('in data: %s %j selects %j', async (predicate, value, expected) => {
    const ids = await store(values.map((name) => ({ data: { name } })));
    expect(await selected(ids, [filter('data.name', predicate, value)])).toEqual(expected);
  });

  it('ignores the case of ASCII letters only', async () => {
    const ids = await store(['É', 'é'].map((first_name) => ({ columns: { first_name } })));
    expect(await selected(ids, [filter('first_name', 'cont', 'é')])).toEqual([1]);
  });
});

describe('a value in data', () => {
  const values = [
    31,
    '31',
    'abc',
    'NaN',
    '1e400',
    '',
    null,
    true,
    { n: 31 },
    [31],
    '٣١',
    29,
    '0x1f',
    ' 31',
    undefined,
  ];

  it.each<[predicate: string, value: unknown, expected: number[]]>([
    ['gt', 30, [0, 1]],
    ['gteq', 31, [0, 1]],
    ['lt', 30, [11]],
    ['lteq', 31, [0, 1, 11]],
    ['between', [29, 31], [0, 1, 11]],
    ['eq', 31, [0, 1]],
    ['eq', '31', [1]],
    ['in', [29, 'abc', true], [2, 7, 11]],
    ['true', undefined, [7]],
    ['blank', undefined, [5, 6, 14]],
  ])('is never cast with an error: %s %j selects %j', async (predicate, value, expected) => {
    const ids = await store(values.map((age) => ({ data: { age } })));
    const found = await selectedAll(ids, [filter('data.age', predicate, value)]);
    expect(found).toEqual(expected);
  });

  it('may be a number beyond every type of PostgreSQL and JavaScript', async () => {
    const ids = await store([{}, {}]);
    await api.database.pool.query(
      `update contacts set data = ('{"age": 1e4' || case when id = $1 then '00' else '000' end || '}')::jsonb`,
      [ids[0]],
    );
    expect(await selected(ids, [filter('data.age', 'gt', 30)])).toEqual([0, 1]);
    expect(await selected(ids, [filter('data.age', 'lt', 1.7e308)])).toEqual([]);
  });

  it('is a time as exports write it, in UTC if it names no zone', async () => {
    const values2 = [
      '2026-01-31',
      '2026-02-30',
      '2026-02-01T00:30:00+02:00',
      '2026-01-31 22:30:00',
      'soon',
      20260131,
      '31-01-2026',
      'Sat, 31 Jan 2026 22:30:00 GMT',
      1769898600,
      '1769898600000',
    ];
    const ids = await store(values2.map((at) => ({ data: { at } })));
    const times = [0, 2, 3, 7, 8, 9];
    expect(await selected(ids, [filter('data.at', 'gteq', '2026-01-31')])).toEqual(times);
    expect(await selected(ids, [filter('data.at', 'lt', '2026-01-31T22:30:00.001Z')])).toEqual(times);
    expect(await selected(ids, [filter('data.at', 'gt', '2026-01-31T22:30:00Z')])).toEqual([]);
  });

  it('is found by its path through objects, not through arrays', async () => {
    const ids = await store([
      { data: { a: { b: { c: 1 } } } },
      { data: { a: [{ b: 1 }] } },
      { data: { 'a.b.c': 1 } },
    ]);
    expect(await selected(ids, [filter('data.a.b.c', 'eq', 1)])).toEqual([0]);
    expect(await selected(ids, [filter('data.a.0.b', 'present')])).toEqual([]);
  });

  it('is not within the last days if it is in the future', async () => {
    const at = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
    const ids = await store([
      { data: { at: at(-5) } },
      { data: { at: at(5) } },
      { data: { at: at(-50) } },
      {},
    ]);
    const month = { count: 30, unit: 'days' };
    expect(await selected(ids, [filter('data.at', 'within_last', month)])).toEqual([0]);
    expect(await selected(ids, [filter('data.at', 'older_than', month)])).toEqual([2]);
  });
});

/** As {@link selected}, for more contacts than a sample has. */
async function selectedAll(ids: number[], filters: unknown[]): Promise<number[]> {
  const created = await api.request('POST', '/v1/my/segments', { body: { name: 'x', filters } });
  expect([created.status, created.text]).toEqual([201, expect.any(String)]);
  const members = await api.request('GET', `/v1/my/segments/${Number(created.body.id)}/contacts?limit=200`);
  expect(members.status).toBe(200);
  return members.list.map(({ id }) => ids.indexOf(Number(id))).sort((one, other) => one - other);
}

describe('columns', () => {
  it('of times are compared with times and periods', async () => {
    const ids = await store([
      { columns: { created_at: new Date(Date.now() - 5 * 86_400_000) } },
      { columns: { created_at: '2020-01-01T00:00:00Z', email_opt_in_at: '2020-01-02T00:00:00Z' } },
    ]);
    const month = { count: 1, unit: 'months' };
    expect(await selected(ids, [filter('created_at', 'within_last', month)])).toEqual([0]);
    expect(await selected(ids, [filter('created_at', 'older_than', month)])).toEqual([1]);
    expect(await selected(ids, [filter('created_at', 'between', ['2019-12-31', '2020-01-01'])])).toEqual([1]);
    expect(await selected(ids, [filter('email_opt_in_at', 'lteq', '2020-01-02')])).toEqual([1]);
    expect(await selected(ids, [filter('email_opt_in_at', 'blank')])).toEqual([0]);
  });

  it('of the last interaction come from the activity', async () => {
    const ids = await store([{}, {}, {}]);
    await api.database.pool.query(
      `insert into contact_activity values ($1, now()), ($2, now() - interval '1 year')`,
      [ids[0], ids[1]],
    );
    const days = { count: 180, unit: 'days' };
    expect(await selected(ids, [filter('last_interacted_at', 'within_last', days)])).toEqual([0]);
    expect(await selected(ids, [filter('last_interacted_at', 'older_than', days)])).toEqual([1]);
    expect(await selected(ids, [filter('last_interacted_at', 'blank')])).toEqual([2]);
  });

  it('of a status and of subscriptions equal those of the contact resource', async () => {
    const address = (email: string) => ({ email, email_key: email, email_subscribed: true });
    const ids = await store([
      { columns: { ...address('a@x.test'), email_verified: true } },
      { columns: { ...address('b@x.test'), email_verified: true } },
      { columns: { enriched_at: new Date() } },
    ]);
    await api.database.pool.query(
      `insert into suppressions (account_id, address_key, email, reason) values ($1, 'b@x.test', 'b@x.test', 'manual')`,
      [api.accountId],
    );
    expect(await selected(ids, [filter('verification_status', 'eq', 'verified')])).toEqual([0]);
    expect(await selected(ids, [filter('verification_status', 'eq', 'suppressed')])).toEqual([1]);
    expect(
      await selected(ids, [filter('verification_status', 'not_in', ['verified', 'suppressed'])]),
    ).toEqual([2]);
    expect(await selected(ids, [filter('enrichment_status', 'eq', 'enriched')])).toEqual([2]);
    expect(await selected(ids, [filter('subscribed_email', 'true')])).toEqual([0, 1]);
    expect(await selected(ids, [filter('subscribed_email', 'not_eq', true)])).toEqual([2]);
  });

  it('of a validation apply to the present address of the contact', async () => {
    const address = (email: string) => ({ columns: { email, email_key: email } });
    const ids = await store([address('a@x.test'), address('b@x.test'), address('c@x.test'), {}]);
    await api.database.pool.query(
      `insert into contact_verdicts (contact_id, email_key, verdict, reusable, checked_at)
       values ($1, 'a@x.test', 'risky', false, now()), ($2, 'former@x.test', 'risky', false, now())`,
      [ids[0], ids[1]],
    );
    expect(await selected(ids, [filter('email_verdict', 'eq', 'risky')])).toEqual([0]);
    expect(await selected(ids, [filter('email_verdict', 'not_in', ['risky', 'unknown'])])).toEqual([1, 2, 3]);
    expect(await selected(ids, [filter('email_verdict', 'present')])).toEqual([0]);
    expect(await selected(ids, [filter('email_verdict', 'blank')])).toEqual([1, 2, 3]);
  });
});

describe('what contacts did', () => {
  async function storeEvents(
    rows: [contactId: number | undefined, daysAgo: number, test?: boolean][],
  ): Promise<void> {
    const { accountId, brandId, database } = api;
    await database.pool.query(`insert into event_names (id, brand_id, name) values (1, $1, 'order_placed')`, [
      brandId,
    ]);
    for (const [contactId, daysAgo, test = false] of rows) {
      await database.pool.query(
        `insert into contact_events (account_id, brand_id, contact_id, name_id, test, created_at)
         values ($1, $2, $3, 1, $4, now() - $5 * interval '1 day')`,
        [accountId, brandId, contactId, test, daysAgo],
      );
    }
  }
  const month = { count: 30, unit: 'days' };

  it('counts events, except those of test keys', async () => {
    const ids = await store([{}, {}, {}, {}]);
    await storeEvents([
      [ids[0], 1],
      [ids[0], 40],
      [ids[1], 40],
      [ids[2], 1, true],
    ]);
    const orders = (predicate: string, value?: unknown) => [filter('event.order_placed', predicate, value)];
    expect(await selected(ids, orders('did'))).toEqual([0, 1]);
    expect(await selected(ids, orders('did', { at_least: 2 }))).toEqual([0]);
    expect(await selected(ids, orders('did', { within: month }))).toEqual([0]);
    expect(await selected(ids, orders('did_not', { within: month }))).toEqual([1, 2, 3]);
    expect(await selected(ids, orders('did_not', { at_least: 2 }))).toEqual([1, 2, 3]);
    expect(await selected(ids, [filter('event.unknown', 'did')])).toEqual([]);
    expect(await selected(ids, [filter('event.unknown', 'did_not')])).toEqual([0, 1, 2, 3]);
  });

  it('distinguishes sent, opened and clicked mail', async () => {
    const ids = await store([{}, {}]);
    await api.database.pool.query(
      `insert into contact_engagement (brand_id, contact_id, message_id, kind, created_at)
       values ($1, $2, 1, 0, now()), ($1, $2, 1, 2, now()), ($1, $3, 2, 0, now())`,
      [api.brandId, ids[0], ids[1]],
    );
    expect(await selected(ids, [filter('email_sent', 'did', { within: month })])).toEqual([0, 1]);
    expect(await selected(ids, [filter('email_clicked', 'did_not')])).toEqual([1]);
    expect(await selected(ids, [filter('email_opened', 'did')])).toEqual([]);
  });
});

describe('mail of a campaign', () => {
  const of = (id: unknown, more: object = {}) => ({ campaign_id: id, ...more });

  /** Stores a campaign that was sent. @returns its id */
  async function campaign(
    columns: { channel?: string; phase?: string; tracking?: object | null } = {},
    { accountId, brandId }: TestTenant = api,
  ): Promise<number> {
    const { channel = 'email', phase = 'done', tracking = { opens: true, clicks: true } } = columns;
    const { rows } = await api.database.pool.query<{ id: number }>(
      `insert into campaigns (account_id, brand_id, channel, name, phase, tracking, status)
       values ($1, $2, $3, 'Sale', $4, $5, case $4 when 'draft' then 'draft' else 'completed' end) returning id`,
      [accountId, brandId, channel, phase, tracking && JSON.stringify(tracking)],
    );
    return rows[0]?.id ?? 0;
  }

  it('is found by what the contact did with it', async () => {
    const ids = await store([{}, {}, {}, {}]);
    const [sale, other] = [await campaign(), await campaign()];
    const states = ['delivered', 'delivered', 'failed', null].flatMap((status, index) =>
      status === null ? [] : [{ status, contactId: ids[index] as number }],
    );
    await writeRecipients(
      api,
      sale,
      states.map((one, index) => ({ ...one, sent: one.status !== 'failed', opened: index === 0 })),
    );
    await writeRecipients(api, other, [{ status: 'delivered', sent: true, opened: true, contactId: ids[3] }]);
    expect(await selected(ids, [filter('email_sent', 'did', of(sale))])).toEqual([0, 1]);
    expect(await selected(ids, [filter('email_opened', 'did', of(sale))])).toEqual([0]);
    expect(await selected(ids, [filter('email_opened', 'did_not', of(sale))])).toEqual([1, 2, 3]);
    const notOpened = [filter('email_sent', 'did', of(sale)), filter('email_opened', 'did_not', of(sale))];
    expect(await selected(ids, notOpened)).toEqual([1]);
    const recently = of(sale, { within: { count: 1, unit: 'hours' } });
    expect(await selected(ids, [filter('email_opened', 'did', recently)])).toEqual([0]);
    await api.database.pool.query(`update messages set opened_at = now() - interval '2 hours'`);
    expect(await selected(ids, [filter('email_opened', 'did', recently)])).toEqual([]);
  });

  it.each([
    ['email_opened', of('x'), 'campaign_id'],
    ['email_opened', of(0), 'campaign_id'],
    ['email_opened', of(1, { at_least: 2 }), 'at_least'],
    ['email_opened', of(1, { step: 3 }), 'step'],
    ['event.order_placed', of(1), 'campaign_id'],
  ])('is refused for %s with %j', async (name, value, field) => {
    const { status, body } = await preview([filter(name, 'did', value)]);
    expect([status, Object.keys(body.validation_errors ?? {})]).toEqual([422, [`filters.0.value.${field}`]]);
  });

  it.each<[string, string, () => Promise<number>]>([
    ['of another brand', 'is not a campaign of the brand', () => campaign({}, api.other)],
    ['that is a draft', 'has not been sent', () => campaign({ phase: 'draft' })],
    ['of SMS', 'is not a campaign by email', () => campaign({ channel: 'sms' })],
    [
      'whose opens were not tracked',
      'were not recorded',
      () => campaign({ tracking: { opens: false, clicks: true } }),
    ],
    ['without tracking', 'were not recorded', () => campaign({ tracking: null })],
  ])('is refused for a campaign %s, in a preview and in a segment', async (_, message, make) => {
    const id = await make();
    const filters = [filter('any', 'or', [filter('email_opened', 'did_not', of(id))])];
    const field = 'filters.0.value.0.value.campaign_id';
    const saved = await api.request('POST', '/v1/my/segments', { body: { name: 'S', filters } });
    for (const { status, body } of [await preview(filters), saved]) {
      expect([status, body.validation_errors]).toEqual([
        422,
        { [field]: [expect.stringContaining(message)] },
      ]);
    }
  });

  it('can be asked for sent mail without tracking, and is kept in a segment', async () => {
    const filters = [filter('email_sent', 'did', of(await campaign({ tracking: null })))];
    const { status, body } = await api.request('POST', '/v1/my/segments', { body: { name: 'S', filters } });
    expect([status, body.filters]).toEqual([201, filters]);
  });
});

describe('groups and references', () => {
  it('combine lists, segments and other filters', async () => {
    const ids = await store([{ data: { plan: 'pro' } }, { data: { plan: 'free' } }, { data: {} }]);
    const { rows } = await api.database.pool.query<{ id: number }>(
      `insert into lists (account_id, brand_id, name) values ($1, $2, 'l') returning id`,
      [api.accountId, api.brandId],
    );
    const list = rows[0]?.id;
    await api.database.pool.query('insert into list_members values ($1, $2)', [list, ids[2]]);
    const pro = filter('data.plan', 'eq', 'pro');
    const segment = await api.request('POST', '/v1/my/segments', { body: { name: 'Pro', filters: [pro] } });
    const inPro = (predicate: string) => filter('segment', predicate, [segment.body.id]);
    expect(await selected(ids, [filter('list', 'eq', list)])).toEqual([2]);
    expect(await selected(ids, [filter('list', 'not_in', [list])])).toEqual([0, 1]);
    expect(await selected(ids, [inPro('in')])).toEqual([0]);
    expect(await selected(ids, [inPro('not_in')])).toEqual([1, 2]);
    expect(await selected(ids, [filter('any', 'or', [inPro('in'), filter('list', 'eq', list)])])).toEqual([
      0, 2,
    ]);
    const paid = filter('all', 'and', [filter('data.plan', 'present'), inPro('not_in')]);
    expect(await selected(ids, [filter('any', 'or', [paid, filter('list', 'eq', list)])])).toEqual([1, 2]);
    expect(await selected(ids, [])).toEqual([0, 1, 2]);
  });

  it('never select the contacts of another brand', async () => {
    await store([{ data: { plan: 'pro' } }], api.other);
    const response = await preview([
      filter('any', 'or', [filter('data.plan', 'eq', 'pro'), filter('id', 'gt', 0)]),
    ]);
    expect(response.body).toEqual({
      count: 0,
      sample: [],
      sample_out: [],
      slow_because: null,
      match: null,
      warnings: [],
    });
  });
});

describe('bad input', () => {
  const items = Array.from({ length: 501 }, (_, n) => `${n}`);

  it.each<[bad: unknown, field: string, message: string]>([
    [filter('creatd_at', 'present'), 'filters.0.name', 'is not a known name; did you mean created_at?'],
    [filter('data.', 'present'), 'filters.0.name', 'must name a key of data, such as data.plan'],
    [filter(`data${'.a'.repeat(11)}`, 'present'), 'filters.0.name', 'must have at most 10 keys'],
    [
      filter('event.Order', 'did'),
      'filters.0.name',
      'must be event. and a name of a-z, 0-9 and _, up to 64 characters',
    ],
    [filter('list', 'gt', 1), 'filters.0.predicate', 'must be one of eq, not_eq, in, not_in for list'],
    [
      filter('email', 'did'),
      'filters.0.predicate',
      expect.stringContaining('for email') as unknown as string,
    ],
    [filter('email', 'eq', 5), 'filters.0.value', 'must be a string'],
    [filter('email', 'eq', null), 'filters.0.value', 'must be a string'],
    [filter('email', 'in', 'a'), 'filters.0.value', 'must be an array'],
    [filter('email', 'in', []), 'filters.0.value', 'must not be empty'],
    [filter('email', 'in', items), 'filters.0.value', 'must have at most 500 items'],
    [filter('first_name', 'in', ['a', 1]), 'filters.0.value.1', 'must be a string'],
    [filter('email', 'cont', ''), 'filters.0.value', 'must not be empty'],
    [filter('email', 'cont', 'x'.repeat(1_001)), 'filters.0.value', 'must have at most 1000 characters'],
    [filter('email', 'present', 'no'), 'filters.0.value', 'must be left out'],
    [filter('enrichment_status', 'eq', 'rich'), 'filters.0.value', 'must be one of enriched, not_enriched'],
    [
      filter('email_verdict', 'eq', 'good'),
      'filters.0.value',
      'must be one of deliverable, undeliverable, risky, unknown',
    ],
    [filter('subscribed_email', 'eq', 'yes'), 'filters.0.value', 'must be true or false'],
    [
      filter('created_at', 'gt', '2026-02-30'),
      'filters.0.value',
      expect.stringContaining('ISO 8601') as unknown as string,
    ],
    [
      filter('created_at', 'gt', '2026-01-01T00:00:00'),
      'filters.0.value',
      expect.stringContaining('with its zone') as unknown as string,
    ],
    [filter('data.a', 'gt', 'abc'), 'filters.0.value', 'must be a number, or an ISO 8601 date or date-time'],
    [filter('data.a', 'eq', { a: 1 }), 'filters.0.value', 'must be a string, a number, true or false'],
    [filter('data.a', 'between', [1]), 'filters.0.value', 'must be an array of two values, the lower first'],
    [filter('data.a', 'between', [2, 1]), 'filters.0.value.1', 'must not be lower than the first'],
    [
      filter('data.a', 'between', [1, '2026-01-01']),
      'filters.0.value.1',
      'must be of the same kind as the first',
    ],
    [filter('created_at', 'within_last', 30), 'filters.0.value', 'must be an object with count and unit'],
    [
      filter('created_at', 'within_last', { count: 0, unit: 'days' }),
      'filters.0.value.count',
      'must be an integer of at least 1',
    ],
    [
      filter('created_at', 'within_last', { count: 1, unit: 'day' }),
      'filters.0.value.unit',
      expect.stringContaining('days') as unknown as string,
    ],
    [
      filter('created_at', 'older_than', { count: 1e15, unit: 'years' }),
      'filters.0.value.count',
      'must be at most 100 years',
    ],
    [
      filter('event.a', 'did', { atleast: 1 }),
      'filters.0.value.atleast',
      expect.stringContaining('at_least') as unknown as string,
    ],
    [
      filter('event.a', 'did', { at_least: 0 }),
      'filters.0.value.at_least',
      'must be an integer from 1 to 10000',
    ],
    [
      filter('event.a', 'did', { within: 30 }),
      'filters.0.value.within',
      'must be an object with count and unit',
    ],
    [filter('list', 'in', [0]), 'filters.0.value.0', 'must be an integer from 1 to 999999999999999'],
    [filter('any', 'or', []), 'filters.0.value', 'must not be empty'],
    [filter('any', 'or', 'x'), 'filters.0.value', 'must be an array of filters'],
    [filter('any', 'or', [5]), 'filters.0.value.0', 'must be an object'],
    [
      filter('any', 'or', [filter('email', 'gt', 1)]),
      'filters.0.value.0.predicate',
      expect.stringContaining('for email') as unknown as string,
    ],
    [
      filter('any', 'or', [{ name: 'email', predicate: 'is' }]),
      'filters.0.value.0.predicate',
      expect.stringContaining('must be one of') as unknown as string,
    ],
    [
      { name: 'email', predicate: 'present', values: [] },
      'filters.0.values',
      'is not a known field; did you mean value?',
    ],
    [filter('__proto__', 'present'), 'filters.0.name', 'is not a known name'],
    [filter('constructor', 'present'), 'filters.0.name', 'is not a known name'],
  ])('%j is refused at %s', async (bad, field, message) => {
    const response = await preview([bad]);
    expect(response.status).toBe(422);
    expect(response.body.validation_errors).toEqual({ [field]: [message] });
  });
});
