// A slow segment preview stops, names the slowest filter, and does not block other requests.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
  const { pool } = api.database;
  await pool.query(`insert into contacts (account_id, brand_id) select $1, $2 from generate_series(1, 200)`, [
    api.accountId,
    api.brandId,
  ]);
  await pool.query('insert into contact_activity select id, now() from contacts');
  // Reading the activity of all contacts takes 200 seconds.
  await pool.query(`
    alter table contact_activity rename to quick_activity;
    create view contact_activity as
      select contact_id, last_interacted_at from quick_activity where pg_sleep(1) is not null`);
});
afterAll(() => api.close());

const slow = [
  { name: 'data.plan', predicate: 'blank' },
  { name: 'last_interacted_at', predicate: 'within_last', value: { count: 1, unit: 'days' } },
];
const preview = (filters: unknown[]) => api.request('POST', '/v1/my/segments/preview', { body: { filters } });

describe('a preview', () => {
  beforeEach(async () => {
    await api.database.pool.query('analyze contacts');
  });

  it('that takes too long says so and names the slowest filter', async () => {
    const response = await preview(slow);
    expect([response.status, response.body.count, response.body.sample]).toEqual([200, null, []]);
    expect(response.body.slow_because).toMatch(
      /^The count was stopped after 5 seconds\. filters\.1 \(last_interacted_at within_last\) takes the most time/,
    );
  });

  it('that PostgreSQL expects to take far too long is not started', async () => {
    await api.database.pool.query(
      `update pg_class set reltuples = 1e12, relpages = 1 where relname = 'contacts'`,
    );
    const response = await preview([slow[0]]);
    expect([response.status, response.body.count]).toEqual([200, null]);
    expect(response.body.slow_because).toMatch(
      /^The count was not started, .* filters\.0 \(data\.plan blank\) .* reads about [0-9,]+ rows/,
    );
  });

  it('leaves the connections of other requests alone, however many there are', async () => {
    let previews = 0;
    const all = Array.from({ length: 10 }, () =>
      preview(slow).then((response) => {
        previews += 1;
        return response;
      }),
    );
    // One more than may wait.
    expect((await preview(slow)).status).toBe(429);
    const quick = await api.request('GET', '/v1/my/segments');
    expect([quick.status, previews < all.length]).toEqual([200, true]);
    const answers = await Promise.all(all);
    for (const { status, body, headers } of answers) {
      if (status === 200) expect(body.count).toBeNull();
      else expect([status, headers.get('retry-after')]).toEqual([429, '5']);
    }
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(2);
  }, 60_000);
});

describe('the contacts of a slow segment', () => {
  it('are a 503 that names the slowest filter', async () => {
    const created = await api.request('POST', '/v1/my/segments', { body: { name: 'Slow', filters: slow } });
    const response = await api.request('GET', `/v1/my/segments/${Number(created.body.id)}/contacts`);
    expect([response.status, response.body.code]).toEqual([503, 'unavailable']);
    expect(response.text).toContain('filters.1 (last_interacted_at within_last) takes the most time');
  });
});
