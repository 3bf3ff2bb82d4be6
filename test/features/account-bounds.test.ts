// An account stores only so many templates, campaigns, lists and drafts.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../support/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(() => query('truncate templates, campaigns, lists, drafts cascade'));

const query = (text: string, values: unknown[] = []) => api.database.pool.query(text, values);

/** Fills a table up to one row less than the most. @param columns with their values in SQL, over `n` */
const fill = (table: string, columns: Record<string, string>, count: number) =>
  query(
    `insert into ${table} (account_id, brand_id, ${Object.keys(columns).join(', ')})
     select $1, $2, ${Object.values(columns).join(', ')} from generate_series(1, $3) n`,
    [api.accountId, api.brandId, count],
  );

const countOf = async (table: string) =>
  (await query(`select count(*)::int as count from ${table} where account_id = $1`, [api.accountId])).rows;

describe('an account', () => {
  it.each([
    ['templates', 100_000, {}, { channel: 'email', subject: 'Hi' }],
    ['campaigns', 50_000, { name: "'Spring'" }, { name: 'Spring', channel: 'email' }],
    ['lists', 20_000, { name: "'Customers'" }, { name: 'Customers' }],
  ] as const)('cannot have more %s than %d', async (table, max, columns, body) => {
    await fill(table, { created_at: 'now()', ...columns }, max - 1);
    const create = (token = api.apiKey) => api.request('POST', `/v1/my/${table}`, { body, token });
    expect((await create()).status).toBe(201);
    const refused = await create();
    const what = table === 'campaigns' ? `${max} drafts` : max;
    const message = `are limited to ${what} for each account; delete some first`;
    expect([refused.status, refused.body.validation_errors]).toEqual([422, { [table]: [message] }]);
    expect(await countOf(table)).toEqual([{ count: max }]);
    expect((await create(api.other.apiKey)).status).toBe(201);
    await query(`update ${table} set removed_at = now() where id in (select min(id) from ${table})`);
    expect((await create()).status).toBe(201);
    if (table !== 'campaigns') return;
    // It cannot delete the others.
    await query(`update campaigns set status = 'completed' where id in (select max(id) from campaigns)`);
    expect((await create()).status).toBe(201);
    expect((await create()).status).toBe(422);
  });

  it('has more templates than 100000 if the others are those of sent campaigns and archived flows', async () => {
    const owner = async (table: string) => {
      const { rows } = await query(
        `insert into ${table} (account_id, brand_id, name) values ($1, $2, 'Spring') returning id`,
        [api.accountId, api.brandId],
      );
      return (rows[0] as { id: number }).id;
    };
    const [campaign, flow] = [await owner('campaigns'), await owner('flows')];
    const columns = {
      name: "'T'",
      campaign_id: `case when n % 2 = 0 then ${campaign} end`,
      flow_id: `case when n % 2 = 1 then ${flow} end`,
    };
    await fill('templates', columns, 100_000);
    const create = async () =>
      (await api.request('POST', '/v1/my/templates', { body: { channel: 'email', subject: 'Hi' } })).status;
    const statuses = [await create()];
    for (const [table, id, end] of [
      ['campaigns', campaign, 'completed'],
      ['flows', flow, 'archived'],
    ] as const) {
      await query(`update ${table} set status = $2 where id = $1`, [id, end]);
      statuses.push(await create());
      await query(`update ${table} set status = 'draft' where id = $1`, [id]);
      statuses.push(await create());
    }
    expect(statuses).toEqual([422, 201, 422, 201, 422]);
  });

  it('cannot have more drafts than 20000', async () => {
    await fill('templates', { name: "'T'" }, 20_001);
    const { rows } = await query('select array_agg(id order by id) as ids from templates');
    const [first, second, ...others] = (rows[0] as { ids: number[] }).ids;
    await query(
      `insert into drafts (account_id, brand_id, template_id, content, base)
       select $1, $2, id, '{}', '"1"' from unnest($3::bigint[]) id`,
      [api.accountId, api.brandId, others],
    );
    const put = (id: number | undefined, text: string, headers: Record<string, string>) =>
      api.request('PUT', `/v1/my/drafts/templates/${String(id)}`, {
        body: { content: { text }, base: '"1"' },
        headers,
      });
    const saved = await put(first, 'one', { 'If-None-Match': '*' });
    expect(saved.status).toBe(200);
    const refused = await put(second, 'too many', { 'If-None-Match': '*' });
    const message = 'are limited to 20000 for each account; delete some first';
    expect([refused.status, refused.body.validation_errors]).toEqual([422, { drafts: [message] }]);
    // Drafts that it has can grow.
    const longer = await put(first, 'one that is longer', { 'If-Match': saved.headers.get('etag') ?? '' });
    expect(longer.status).toBe(200);
  });
});
