// The event list pages and filters exactly, and a list that is too slow names a filter to add.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { deleteContactEvents } from '../../../src/features/contact-events/service.ts';
import { listEvents } from '../../../src/features/contact-events/list.ts';
import type { Tenant } from '../../../src/platform/auth/tenant.ts';
import { onClient, type Queryable } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { insertContacts } from '../../support/contacts.ts';

let api: TestApi;
let ids: number[];
const DAY_MS = 86_400_000;
const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString();

async function track(fields: object, token = api.apiKey): Promise<number> {
  const { status, body } = await api.request('POST', '/v1/my/events', { body: fields, token });
  expect(status).toBe(201);
  return Number(body.id);
}

/** Ids of the events, newest first. */
let newestFirst: number[];
beforeAll(async () => {
  api = await startTestApi();
  ids = await insertContacts(api.database.pool, api, 2);
  const [one, two] = ids;
  const [foreign] = await insertContacts(api.database.pool, api.other, 1);
  await track({ event: 'bought', contact_id: foreign }, api.other.apiKey);
  const second = await track({ event: 'bought', contact_id: one });
  const year = await track({ event: 'bought', contact_id: two, occurred_at: daysAgo(365) });
  const decade = await track({ event: 'seen', contact_id: one, occurred_at: daysAgo(3_600), test: true });
  const first = await track({ event: 'seen', contact_id: two });
  const week = await track({ event: 'seen', contact_id: one, occurred_at: daysAgo(7) });
  newestFirst = [first, second, week, year, decade];
});
afterAll(() => api.close());

async function list(query = ''): Promise<unknown[]> {
  const { status, list: found } = await api.request('GET', `/v1/my/events${query}`);
  expect(status).toBe(200);
  return found.map(({ id }) => newestFirst.indexOf(Number(id)));
}

describe('GET /events', () => {
  it('lists the brand’s events by the time at which they happened, newest first, and counts them', async () => {
    expect(await list()).toEqual([0, 1, 2, 3, 4]);
    const { headers } = await api.request('GET', '/v1/my/events');
    expect(headers.get('x-total-count')).toBe('5');
  });

  it('returns pages by number and by the last event, also after that was deleted', async () => {
    expect(await list('?limit=2&page=2')).toEqual([2, 3]);
    const { headers } = await api.request('GET', '/v1/my/events?limit=2');
    const next = /<[^>]*(\?[^>]*)>; rel="next"/.exec(headers.get('link') ?? '')?.[1] ?? '';
    expect(next).toContain(`after=${newestFirst[1]}`);
    expect(await list(next)).toEqual([2, 3]);
    expect(await list(`?after=${newestFirst[4]}`)).toEqual([]);
    const gone = await track({ event: 'seen', contact_id: ids[0] });
    await api.request('DELETE', `/v1/my/events/${gone}`);
    // The event before it in the brand happened a week ago.
    expect(await list(`?after=${gone}`)).toEqual([2, 3, 4]);
    expect(await list('?after=1')).toEqual([]);
  });

  it('filters by each field', async () => {
    const [one = 0, two = 0] = ids;
    const filters: [string, number[]][] = [
      ['event=bought', [1, 3]],
      ['event=unknown', []],
      [`contact_id=${one}`, [1, 2, 4]],
      ['contact_email=Contact1@EXAMPLE.com', [0, 3]],
      [`contact_email=contact1@example.com&contact_id=${one}`, []],
      ['contact_email=nobody@example.com', []],
      ['contact_email=nonsense', []],
      ['test=true', [4]],
      ['test=false', [0, 1, 2, 3]],
      [`created_after=${daysAgo(8)}`, [0, 1, 2]],
      [`created_before=${daysAgo(300)}`, [3, 4]],
      [`created_after=${daysAgo(400)}&created_before=${daysAgo(1)}&event=bought&contact_id=${two}`, [3]],
      [`event=seen&after=${newestFirst[0]}`, [2, 4]],
    ];
    for (const [query, expected] of filters) {
      expect({ query, found: await list(`?${query}`) }).toEqual({ query, found: expected });
      if (query.includes('after=')) continue;
      const { headers } = await api.request('GET', `/v1/my/events?${query}`);
      expect([query, headers.get('x-total-count')]).toEqual([query, String(expected.length)]);
    }
  });

  it.each(['event=Bad', 'contact_id=x', 'test=yes', 'created_after=now', 'color=red', 'limit=0'])(
    'refuses %s',
    async (query) => {
      const { status, body } = await api.request('GET', `/v1/my/events?${query}`);
      expect([status, Object.keys(body.validation_errors ?? {})]).toEqual([422, [query.split('=')[0]]]);
    },
  );
});

describe('deleteContactEvents', () => {
  it('deletes the events of one contact with their keys, in steps', async () => {
    const { pool } = api.database;
    const [id = 0, other = 0] = await insertContacts(pool, api, 2, 'leaving');
    for (let n = 0; n < 5; n += 1) {
      await track({ event: 'seen', contact_id: id, idempotency_key: `l${n}`, occurred_at: daysAgo(n * 400) });
    }
    await track({ event: 'seen', contact_id: other, idempotency_key: 'stays' });
    expect(await deleteContactEvents(pool, id, 3)).toBe(3);
    expect(await deleteContactEvents(pool, id, 3)).toBe(2);
    expect(await deleteContactEvents(pool, id, 3)).toBe(0);
    const { rows } = await pool.query(
      `select e.contact_id, k.key from contact_event_keys k
       left join contact_events e on e.id = k.event_id where k.key like 'l_' or k.key = 'stays'`,
    );
    expect(rows).toEqual([{ contact_id: other, key: 'stays' }]);
  });
});

describe('a slow list of events', () => {
  const limited = (limits: { pageMs: number; countMs: number }, slow: string) => {
    const tenant: Tenant = { ...api, actor: { kind: 'api_key', id: 1, test: false }, role: 'admin' };
    const run = async <T>(_read: object, work: (client: Queryable) => Promise<T>) =>
      onClient(api.database.pool, (client) =>
        work({
          // The first statement with this text takes long.
          async query(statement, values) {
            if (typeof statement === 'string' && statement.includes(slow))
              await client.query('select pg_sleep(60)');
            return client.query(statement, values);
          },
        }),
      );
    const heavyReads = { run, close: () => Promise.resolve() };
    const page = { number: 1, limit: 25, offset: 0, after: null };
    return listEvents({ pool: api.database.pool, heavyReads }, tenant, { test: 'false' }, page, limits);
  };

  it('is refused, and names a filter', async () => {
    await expect(limited({ pageMs: 50, countMs: 60_000 }, 'order by')).rejects.toMatchObject({
      validationErrors: { test: [expect.stringContaining('takes longer than 5 seconds')] },
    });
  });

  it('has an estimated count', async () => {
    const { rows, count } = await limited({ pageMs: 60_000, countMs: 50 }, 'count(*)');
    expect(rows.length).toBeGreaterThan(3);
    expect(count.estimated).toBe(true);
  });
});
