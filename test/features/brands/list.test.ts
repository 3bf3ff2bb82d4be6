// Users list the brands of their account, and create more.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

const PATH = '/v1/my/brands';
const create = (body: object, headers: Record<string, string> = {}) =>
  api.request('POST', PATH, { token: api.userJwt, body, headers });

describe('/v1/my/brands', () => {
  it('refuses keys, and lets members list but not create', async () => {
    const { userJwt: token } = await api.addUser('member');
    expect((await api.request('GET', PATH)).status).toBe(403);
    expect((await api.request('POST', PATH, { body: { company_name: 'Two' } })).status).toBe(403);
    expect((await api.request('GET', PATH, { token })).list.map(({ id }) => id)).toEqual([api.brandId]);
    expect((await api.request('POST', PATH, { token, body: { company_name: 'Two' } })).status).toBe(403);
  });

  it('requires a name', async () => {
    const answer = await create({ brand_color: '#112233' });
    expect(answer.body.validation_errors).toEqual({ company_name: ['is required'] });
  });

  it('creates a brand once for each Idempotency-Key, which X-Brand-Id then chooses', async () => {
    const headers = { 'Idempotency-Key': 'two' };
    const made = await create({ company_name: 'Two', brand_color: '#112233' }, headers);
    expect([made.status, made.body.company_name, made.body.complete]).toEqual([201, 'Two', true]);
    const repeated = await create({ company_name: 'Two', brand_color: '#112233' }, headers);
    expect(repeated.body).toEqual(made.body);
    const listed = await api.request('GET', PATH, { token: api.userJwt });
    expect(listed.list.map(({ id }) => id)).toEqual([made.body.id, api.brandId]);
    const chosen = { 'X-Brand-Id': String(made.body.id) };
    const current = await api.request('GET', '/v1/my/brand', { token: api.userJwt, headers: chosen });
    expect(current.body).toEqual(made.body);
  });

  it('refuses more than 100 brands, also to concurrent requests', async () => {
    const { rows } = await api.database.pool.query<{ count: number }>(
      'select count(*)::int as count from brands where account_id = $1',
      [api.accountId],
    );
    await api.database.pool.query(
      `insert into brands (account_id, company_name) select $1, 'Brand ' || n from generate_series(1, $2) n`,
      [api.accountId, 99 - (rows[0]?.count ?? 0)],
    );
    const answers = await Promise.all([1, 2, 3].map((n) => create({ company_name: `More ${n}` })));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 422, 422]);
  });
});
