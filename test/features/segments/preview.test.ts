// A preview shows contacts who match and some who do not, explains one, and shares nothing with others.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi, type TestTenant } from '../../support/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.database.pool.query('truncate contacts, event_names, lists, segments cascade');
});

async function store(data: readonly object[], { accountId, brandId }: TestTenant = api): Promise<number[]> {
  const { rows } = await api.database.pool.query<{ id: number }>(
    `insert into contacts (account_id, brand_id, data) select $1, $2, d from unnest($3::jsonb[]) d returning id`,
    [accountId, brandId, data.map((one) => JSON.stringify(one))],
  );
  return rows.map(({ id }) => id);
}

const preview = (body: object, token: string = api.apiKey) =>
  api.request('POST', '/v1/my/segments/preview', { body, token });
const idsOf = (sample: unknown) => (sample as { id: number }[]).map(({ id }) => id);
const pro = { name: 'data.plan', predicate: 'eq', value: 'pro' };
const adult = { name: 'data.age', predicate: 'gteq', value: 18 };
const german = { name: 'country_code', predicate: 'eq', value: 'DE' };

describe('the others of a preview', () => {
  it('are the newest contacts that do not match, of the brand', async () => {
    await store([{ plan: 'free' }], api.other);
    const ids = await store([{ plan: 'pro' }, { plan: 'free' }, {}, { plan: 'pro' }]);
    const { body } = await preview({ filters: [pro] });
    expect(body).toMatchObject({ count: 2, match: null });
    expect(idsOf(body.sample)).toEqual([ids[3], ids[0]]);
    expect(idsOf(body.sample_out)).toEqual([ids[2], ids[1]]);
  });

  it('are at most ten, and none if all match', async () => {
    const ids = await store(Array.from({ length: 12 }, () => ({})));
    expect(idsOf((await preview({ filters: [pro] })).body.sample_out)).toEqual(ids.slice(2).reverse());
    expect((await preview({ filters: [] })).body.sample_out).toEqual([]);
  });
});

describe('one contact', () => {
  it('is explained filter by filter, also inside groups', async () => {
    const [id] = await store([{ plan: 'pro', age: 17 }]);
    const filters = [
      pro,
      {
        name: 'any',
        predicate: 'or',
        value: [german, { name: 'all', predicate: 'and', value: [pro, adult] }],
      },
    ];
    const { body } = await preview({ filters, contact_id: id });
    expect(body.match).toEqual({
      contact_id: id,
      matches: false,
      filters: [
        { path: 'filters.0', matches: true },
        { path: 'filters.1', matches: false },
        { path: 'filters.1.value.0', matches: false },
        { path: 'filters.1.value.1', matches: false },
        { path: 'filters.1.value.1.value.0', matches: true },
        { path: 'filters.1.value.1.value.1', matches: false },
      ],
    });
  });

  it('matches if there are no filters', async () => {
    const [id] = await store([{}]);
    const { body } = await preview({ filters: [], contact_id: id });
    expect(body.match).toEqual({ contact_id: id, matches: true, filters: [] });
  });

  it('is judged by the filters of the segments that filters name', async () => {
    const created = await api.request('POST', '/v1/my/segments', { body: { name: 'Pro', filters: [pro] } });
    const [id] = await store([{ plan: 'free' }]);
    const filters = [{ name: 'segment', predicate: 'not_in', value: [created.body.id] }];
    expect((await preview({ filters, contact_id: id })).body.match).toMatchObject({ matches: true });
  });

  it('must belong to the brand', async () => {
    const [foreign] = await store([{ plan: 'pro' }], api.other);
    for (const contact_id of [foreign, 999_999_999]) {
      const { status, body } = await preview({ filters: [pro], contact_id });
      expect([status, body.validation_errors]).toEqual([
        422,
        { contact_id: ['is not a contact of the brand'] },
      ]);
    }
  });
});

describe('a warning', () => {
  const after = (name: string) => ({ name, predicate: 'gt', value: '2026-01-31' });

  it('counts values that a filter asks for a time, and that are none', async () => {
    await store([{ ends: '12-04-2022' }, { ends: true, trial: { ends: '2027/13/01' } }], api.other);
    await store([
      { ends: '12-04-2022', trial: { ends: '2027-06-30 12:00' } },
      { ends: '2027-06-30', trial: { ends: 7 } },
      { ends: 'soon', trial: {} },
      { ends: '', trial: [] },
      { ends: null },
    ]);
    const group = { name: 'any', predicate: 'or', value: [adult, after('data.trial.ends')] };
    const { body } = await preview({ filters: [pro, after('data.ends'), group, after('created_at')] });
    const rest = 'among the newest 1,000 contacts. They match like missing ones.';
    expect(body.warnings).toEqual([
      {
        path: 'filters.1',
        message: `data.ends has 2 values that are not times, such as one of the form 99-99-9999, ${rest}`,
      },
      {
        path: 'filters.2.value.1',
        message: `data.trial.ends has 1 value that is not a time, such as one of the form 9, ${rest}`,
      },
    ]);
  });

  it('names keys as filters can name them', async () => {
    await store([{ 'a.b': 'soon', 'q"': { c: 'soon' } }]);
    const names = [String.raw`data.a\.b`, String.raw`data["q\""].c`];
    const { body } = await preview({ filters: names.map(after) });
    const messages = (body.warnings as unknown as { message: string }[]).map(({ message }) => message);
    expect(messages.map((message) => message.split(' has ')[0])).toEqual(names);
  });

  it('is not given for filters that ask for something else', async () => {
    await store([{ ends: 'soon', age: 'many' }]);
    const filters = [{ name: 'data.ends', predicate: 'eq', value: '2026-01-31' }, adult];
    expect((await preview({ filters })).body.warnings).toEqual([]);
  });
});

describe('the names that filters can use', () => {
  const names = async (token = api.apiKey) => {
    const { status, body } = await api.request('GET', '/v1/my/segments/names', { token });
    expect(status).toBe(200);
    return body;
  };

  it('are keys of data with their types, the most frequent first, and events', async () => {
    await store([
      { plan: 'pro', age: '31', 'a.b': 1, tags: ['x'], gone: null },
      { plan: 'free', age: 31, born: '1990-01-31', seen: '2026-01-31T09:30:00Z', vip: true },
      { plan: 7, address: { city: 'Köln', geo: { lat: 50.9, deep: { er: 1 } } } },
    ]);
    await api.database.pool.query(
      `insert into event_names (brand_id, name) values ($1, 'signed_up'), ($1, 'order_placed')`,
      [api.brandId],
    );
    expect(await names()).toEqual({
      data: [
        { path: 'plan', types: ['number', 'text'] },
        { path: 'age', types: ['number'] },
        { path: String.raw`a\.b`, types: ['number'] },
        { path: 'address.city', types: ['text'] },
        { path: 'address.geo.lat', types: ['number'] },
        { path: 'born', types: ['date'] },
        { path: 'seen', types: ['time'] },
        { path: 'tags', types: ['text'] },
        { path: 'vip', types: ['boolean'] },
      ],
      events: ['order_placed', 'signed_up'],
    });
  });

  it('are those of the brand only', async () => {
    await store([{ secret: 'x' }], api.other);
    await api.database.pool.query(`insert into event_names (brand_id, name) values ($1, 'secret')`, [
      api.other.brandId,
    ]);
    expect(await names()).toEqual({ data: [], events: [] });
    expect(await names(api.other.apiKey)).toMatchObject({ events: ['secret'] });
  });
});
