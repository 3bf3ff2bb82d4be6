// A slow contact list runs apart from other requests, ends at its time limit, and names the slow filter.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { listContacts } from '../../../src/features/contacts/list.ts';
import { type HeavyReads, openHeavyReads } from '../../../src/platform/processes/heavy-reads.ts';
import { pageOf } from '../../../src/platform/db/paging.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { eventually } from '../../support/eventually.ts';

const PATH = '/v1/my/contacts';
let api: TestApi;
let heavyReads: HeavyReads;
let listId: number;
let segmentId: number;

async function created(path: string, body: unknown): Promise<number> {
  const response = await api.request('POST', path, { body });
  expect(response.status).toBe(201);
  return Number(response.body.id);
}

beforeAll(async () => {
  api = await startTestApi();
  heavyReads = openHeavyReads(api.database);
  listId = await created('/v1/my/lists', { name: 'News' });
  const filters = [{ name: 'email', predicate: 'present' }];
  segmentId = await created('/v1/my/segments', { name: 'Everyone', filters });
  for (const name of ['ada', 'alan', 'adele']) {
    await created(PATH, { email: `${name}@example.test`, list_ids: [listId] });
  }
  // Reading one membership takes three seconds.
  await api.database.pool.query(`
    alter table list_members rename to quick_list_members;
    create view list_members as select * from quick_list_members where pg_sleep(3) is not null`);
});
afterAll(async () => {
  await heavyReads.close();
  await api.close();
});

const deps = () => ({ pool: api.database.pool, heavyReads });

/** Returns a process of PostgreSQL that sleeps for a statement, with the name of its client. */
async function sleeping() {
  const { rows } = await api.database.pool.query<{ pid: number; client: string }>(
    `select pid, application_name as client from pg_stat_activity
     where datname = current_database() and wait_event = 'PgSleep'`,
  );
  const [row] = rows;
  if (!row) throw new Error('nothing sleeps');
  return row;
}

describe('a list of contacts whose filters are slow', () => {
  it.each([
    ['search=a', 'search'],
    ['segment_id=', 'segment_id'],
    ['verification_status=unverified', 'verification_status'],
  ])('is read apart from other requests with %s, and is a 422 if it takes too long', async (query, field) => {
    const response = api.request('GET', `${PATH}?${query}${field === 'segment_id' ? segmentId : ''}`);
    const reading = await eventually(sleeping);
    expect(reading.client).toBe('carillon heavy reads');
    // The time limit does the same.
    await api.database.pool.query('select pg_cancel_backend($1)', [reading.pid]);
    const { status, body } = await response;
    expect([status, body.validation_errors]).toEqual([
      422,
      { [field]: ['takes longer than 5 seconds: add a filter that fewer contacts match'] },
    ]);
  });

  it('ends at its time limit', async () => {
    const limits = { pageMs: 100, countMs: 60_000 };
    const listing = listContacts(deps(), api, { search: 'a' }, pageOf({}), limits);
    await expect(listing).rejects.toMatchObject({ code: 'validation_error' });
  });

  it('has an estimate for a count that takes too long', async () => {
    const limits = { pageMs: 120_000, countMs: 100 };
    const page = pageOf({ limit: 1 });
    const filters = { list_id: listId };
    const listed = await listContacts(deps(), api, filters, page, limits);
    expect(listed.contacts).toHaveLength(1);
    expect(listed.count.estimated).toBe(true);
    expect(listed.count.total).toBeGreaterThanOrEqual(1);
  }, 60_000);
});
