// Filters find an address however it is typed, in the filter and in the contact.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi, type TestBody } from '../../support/api.ts';

let api: TestApi;
const people = {
  ada: { email: 'Ex.Y@b.test', phone: '(415) 555-0123', country_code: 'US' },
  jo: { email: 'JÖRG@Bücher.test', phone: '030 123456', country_code: 'DE' },
  eve: { email: 'eve_x@c.test' },
  pat: { phone: '+44 20 7946 0018' },
};
type Person = keyof typeof people;
const ids = new Map<number, Person>();

const send = (method: string, path: string, body?: unknown) =>
  api.request(method, `/v1/my${path}`, body === undefined ? {} : { body });

beforeAll(async () => {
  api = await startTestApi();
  for (const [name, body] of Object.entries(people)) {
    const response = await send('POST', '/contacts', body);
    expect(response.status).toBe(201);
    ids.set(Number(response.body.id), name as Person);
  }
});
afterAll(() => api.close());

const namesOf = (contacts: unknown) =>
  (contacts as TestBody[]).map(({ id }) => ids.get(Number(id)) ?? '?').sort();

async function selected(filter: object): Promise<string[]> {
  const { status, body } = await send('POST', '/segments/preview', { filters: [filter] });
  expect(body).toMatchObject({ count: expect.any(Number) });
  expect(status).toBe(200);
  return namesOf(body.sample);
}

const all = Object.keys(people).sort();
const allBut = (...names: string[]) => all.filter((name) => !names.includes(name));

describe('a segment', () => {
  const cases: [string, string, unknown, string[]][] = [
    ['email', 'in', ['ex.y@b.test'], ['ada']],
    ['email', 'eq', 'EX.Y@B.TEST', ['ada']],
    ['email', 'eq', 'Ada <ex.y@b.test>', ['ada']],
    ['email', 'eq', 'jörg@bücher.test', ['jo']],
    ['email', 'eq', 'jörg@xn--bcher-kva.test', ['jo']],
    ['email', 'in', ['JÖRG@XN--BCHER-KVA.TEST', 'eve_x@C.test'], ['eve', 'jo']],
    ['email', 'not_eq', 'ex.y@b.test', allBut('ada')],
    ['email', 'not_in', ['ex.y@b.test', 'jörg@bücher.test'], allBut('ada', 'jo')],
    ['email', 'cont', '@Bücher', ['jo']],
    ['email', 'cont', 'BÜCHER', ['jo']],
    ['email', 'not_cont', 'bücher.test', allBut('jo')],
    ['email', 'end', '@bücher.test', ['jo']],
    ['email', 'end', 'B.test', ['ada']],
    ['email', 'start', 'eX.', ['ada']],
    ['email', 'start', 'jörg@bü', []],
    ['email', 'start', 'JÖR', ['jo']],
    ['email', 'cont', '_x', ['eve']],
    ['email', 'cont', '%', []],
    ['phone', 'eq', '+1 (415) 555-0123', ['ada']],
    ['phone', 'eq', '(415) 555-0123', ['ada']],
    ['phone', 'in', ['0049 30 123456', '020 7946 0018'], ['jo', 'pat']],
    ['phone', 'not_in', ['415-555-0123', '030 / 12 34 56'], allBut('ada', 'jo')],
    ['phone', 'start', '+49', ['jo']],
    ['phone', 'start', '0049 30', ['jo']],
    ['phone', 'start', '030', ['jo']],
    ['phone', 'cont', '555-01', ['ada']],
    ['phone', 'not_cont', '7946', allBut('pat')],
    ['phone', 'end', '0 18', ['pat']],
    ['phone', 'present', null, allBut('eve')],
    ['email', 'blank', null, ['pat']],
  ];
  it.each(cases)('%s %s %j', async (name, predicate, value, expected) => {
    expect(await selected({ name, predicate, value })).toEqual(expected);
  });

  it.each([
    ['email', 'eq', 'nobody', 'value'],
    ['email', 'not_in', ['ex.y@b.test', 'ex.y(at)b.test'], 'value.1'],
    ['phone', 'in', ['12'], 'value.0'],
    ['phone', 'eq', 'none', 'value'],
    ['phone', 'cont', 'x', 'value'],
    ['email', 'cont', ' ', 'value'],
    ['email', 'not_cont', '\u00a0', 'value'],
    ['phone', 'in', Array.from({ length: 60 }, (_, n) => `030 1234${100 + n}`), 'value'],
  ])('refuses %s %s %j, which no contact can match', async (name, predicate, value, at) => {
    const filters = [{ name, predicate, value }];
    const response = await send('POST', '/segments', { name: 'Typo', filters });
    expect(response.status).toBe(422);
    expect(Object.keys(response.body.validation_errors ?? {})).toEqual([`filters.0.${at}`]);
  });

  it('works with such a text that was stored before', async () => {
    const filters = JSON.stringify([{ name: 'email', predicate: 'not_in', value: ['ex.y(at)b.test'] }]);
    const { rows } = await api.database.pool.query<{ id: number }>(
      `insert into segments (account_id, brand_id, name, filters) values ($1, $2, 'Old', $3) returning id`,
      [api.accountId, api.brandId, filters],
    );
    const { body } = await send('GET', `/segments/${String(rows[0]?.id)}/contacts`);
    expect(namesOf(body)).toEqual(all);
  });

  it('finds equal addresses by their index', async () => {
    const { compileFilters } = await import('../../../src/features/segments/index.ts');
    for (const [name, value, column] of [
      ['email', 'Ex.Y@b.test', 'email_key'],
      ['phone', '+1 (415) 555-0123', 'phone'],
    ] as const) {
      const audience = { brandId: api.brandId, asOf: new Date() };
      const { sql, values } = await compileFilters(
        api.database.pool,
        audience,
        [{ name, predicate: 'eq', value }],
        2,
      );
      const client = await api.database.pool.connect();
      try {
        await client.query('set enable_seqscan = off');
        const plan = await client.query<Record<'QUERY PLAN', string>>(
          `explain select c.id from contacts c where c.brand_id = $1 and ${sql}`,
          [api.brandId, ...values],
        );
        const text = plan.rows.map((row) => row['QUERY PLAN']).join('\n');
        expect(text).toMatch(new RegExp(`Index Cond: .*${column} = ANY`));
      } finally {
        await client.query('reset enable_seqscan');
        client.release();
      }
    }
  });
});

describe('lists', () => {
  const cases: [string, string, string[]][] = [
    ['email', 'ex.y@B.test', ['ada']],
    ['email', 'jörg@bücher.test', ['jo']],
    ['phone', '+1 415-555-0123', ['ada']],
    ['phone', '(415) 555-0123', ['ada']],
    ['phone', '0049 30 123456', ['jo']],
    ['phone', 'none', []],
    ['search', 'JÖRG@Bü', []],
    ['search', 'jörg@bücher.test', ['jo']],
    ['search', 'EX.y', ['ada']],
    ['search', '(415) 555', ['ada']],
    ['search', '+49 30', ['jo']],
  ];
  it.each(cases)('of contacts by %s %s', async (name, value, expected) => {
    const { body } = await send('GET', `/contacts?${name}=${encodeURIComponent(value)}`);
    expect(namesOf(body)).toEqual(expected);
  });

  it('of suppressions', async () => {
    await send('POST', '/suppressions', { phone: '+14155550123' });
    await send('POST', '/suppressions', { email: 'JÖRG@Bücher.test' });
    for (const query of [
      'phone=(415)%20555-0123',
      'phone=001%20415%20555%200123',
      'email=j%C3%B6rg@b%C3%BCcher.test',
    ]) {
      expect((await send('GET', `/suppressions?${query}`)).body).toHaveLength(1);
    }
    expect((await send('GET', '/suppressions?phone=none')).body).toEqual([]);
  });

  it('of messages', async () => {
    await api.database.pool.query(
      `insert into messages (account_id, brand_id, channel, status, to_address, to_key)
       values ($1, $2, 'sms', 'sent', '+14155550123', '+14155550123'),
         ($1, $2, 'email', 'sent', 'ex.y@b.test', 'ex.y@b.test')`,
      [api.accountId, api.brandId],
    );
    for (const to of ['(415) 555-0123', '+1 415 555-0123', 'Ada <EX.Y@b.test>']) {
      expect((await send('GET', `/messages?to=${encodeURIComponent(to)}`)).body).toHaveLength(1);
    }
  });

  it('of everything, by a national number', async () => {
    const { body } = await send('GET', '/search?q=(415)%20555-0123');
    expect(JSON.stringify(body)).toContain('contact');
  });
});

it('excludes people whom another segment names in another spelling', async () => {
  const { body: segment } = await send('POST', '/segments', {
    name: 'Never',
    filters: [{ name: 'email', predicate: 'in', value: ['ex.y@b.test', 'jörg@bücher.test'] }],
  });
  const filters = [
    { name: 'subscribed_email', predicate: 'true' },
    { name: 'segment', predicate: 'not_in', value: [segment.id] },
  ];
  const { body } = await send('POST', '/segments/preview', { filters });
  expect(namesOf(body.sample)).toEqual(['eve']);
});
