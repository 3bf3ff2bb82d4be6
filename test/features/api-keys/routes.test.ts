// Owners and admins manage the keys of their account's brands; a key is shown once, and refused once it is revoked.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createBrand } from '../../../src/features/brands/service.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ env: { RATE_LIMIT_PER_KEY: '500' } });
});
afterAll(() => api.close());

const PATH = '/v1/my/api_keys';
const asOwner = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  api.request(method, path, { token: api.userJwt, body, headers });
const create = (body: object = {}, headers?: Record<string, string>) => asOwner('POST', PATH, body, headers);
const idsOf = async (query = '') =>
  (await asOwner('GET', `${PATH}${query}`)).list.map(({ id }) => Number(id));
const accountWith = (token: string) => api.request('GET', '/v1/my/account', { token });

describe('POST /v1/my/api_keys', () => {
  it('is refused to keys and to members', async () => {
    const member = await api.addUser('member');
    for (const token of [api.apiKey, api.testApiKey, member.userJwt]) {
      expect((await api.request('POST', PATH, { token, body: {} })).status).toBe(403);
      expect((await api.request('GET', PATH, { token })).status).toBe(403);
    }
  });

  it('returns a key that works at once and is not shown again', async () => {
    const made = await create({ name: 'shop' });
    expect(made.status).toBe(201);
    const key = String(made.body.key);
    expect(made.body).toEqual({
      id: expect.any(Number),
      brand_id: api.brandId,
      name: 'shop',
      prefix: key.slice(0, 13),
      test: false,
      scopes: null,
      rate_limit_per_second: null,
      last_used_at: null,
      revoked_at: null,
      created_at: expect.any(String),
      key: expect.stringMatching(/^crl_live_/),
    });
    expect((await accountWith(key)).status).toBe(200);
    const listed = await asOwner('GET', PATH);
    expect(listed.list[0]).toMatchObject({ id: made.body.id, name: 'shop' });
    expect(listed.text).not.toContain(key);
  });

  it('creates one key for each Idempotency-Key, and shows it only in the first response', async () => {
    const headers = { 'Idempotency-Key': 'one key' };
    const first = await create({ test: true }, headers);
    const second = await create({ test: true }, headers);
    expect(first.body.key).toMatch(/^crl_test_/);
    expect(second.body).toEqual({ ...first.body, key: null });
  });

  it('creates send-only keys, which are listed, counted, renamed and revoked with the others', async () => {
    const brand_id = await createBrand(api.database.pool, { accountId: api.accountId, companyName: 'Three' });
    const live = await create({ brand_id });
    const made = await create({ brand_id, name: 'blog', scopes: ['send'], rate_limit_per_second: 20 });
    expect([made.status, made.body]).toEqual([
      201,
      expect.objectContaining({ scopes: ['send'], test: false, key: expect.stringMatching(/^crl_send_/) }),
    ]);
    const key = String(made.body.key);
    const id = Number(made.body.id);
    expect(made.body.prefix).toBe(key.slice(0, 13));
    const listed = await asOwner('GET', `${PATH}?brand_id=${brand_id}`);
    expect(listed.list.map((each) => [each.id, each.scopes])).toEqual([
      [id, ['send']],
      [live.body.id, null],
    ]);
    expect(listed.headers.get('X-Total-Count')).toBe('2');
    expect(await idsOf(`?brand_id=${brand_id}&after=${id}`)).toEqual([live.body.id]);
    const renamed = await asOwner('PATCH', `${PATH}/${id}`, { name: 'site', scopes: ['send'] });
    expect(renamed.body).toMatchObject({ id, name: 'site', scopes: ['send'], rate_limit_per_second: 20 });
    expect(
      (await api.request('PATCH', `${PATH}/${id}`, { token: api.other.userJwt, body: { name: 'x' } })).status,
    ).toBe(404);
    const messages = () => api.request('GET', '/v1/my/messages', { token: key });
    expect((await messages()).headers.get('RateLimit-Limit')).toBe('40');
    const revoked = await asOwner('DELETE', `${PATH}/${id}`);
    expect(revoked.body).toMatchObject({ id, revoked_at: expect.any(String) });
    expect((await messages()).status).toBe(401);
    expect(await idsOf(`?brand_id=${brand_id}&revoked=true`)).toEqual([id]);
    const repeated = await asOwner('DELETE', `${PATH}/${id}`);
    expect(repeated.body).toEqual(revoked.body);
  });

  it('refuses other scopes, and scopes of a test key', async () => {
    const cases: [object, unknown][] = [
      [{ scopes: [] }, { scopes: ['must be ["send"]'] }],
      [{ scopes: ['read'] }, { 'scopes.0': [expect.any(String)] }],
      [{ scopes: ['send', 'send'] }, { scopes: ['must be ["send"]'] }],
      [{ scopes: 'send' }, { scopes: expect.any(Array) }],
      [
        { scopes: ['send'], test: true },
        { scopes: ['cannot be given with `test`: a test key sends nothing'] },
      ],
    ];
    for (const [body, errors] of cases) {
      const answer = await create(body);
      expect([body, answer.status, answer.body.validation_errors]).toEqual([body, 422, errors]);
    }
  });

  it('refuses a brand of another account', async () => {
    const answer = await create({ brand_id: api.other.brandId });
    expect(answer.status).toBe(422);
    expect(answer.body.validation_errors).toEqual({ brand_id: ['is not a brand of this account'] });
  });

  it('refuses a rate above the limit of the installation, and none', async () => {
    for (const rate_limit_per_second of [501, 0]) {
      const answer = await create({ rate_limit_per_second });
      expect(answer.status).toBe(422);
      expect(Object.keys(answer.body.validation_errors ?? {})).toEqual(['rate_limit_per_second']);
    }
    expect((await create({ rate_limit_per_second: 500 })).status).toBe(201);
  });

  it('refuses more than 100 valid keys of a brand, also to concurrent requests', async () => {
    const brand_id = await createBrand(api.database.pool, { accountId: api.accountId, companyName: 'Many' });
    await api.database.pool.query(
      `insert into api_keys (account_id, brand_id, display_prefix, digest)
       select $1, $2, 'crl', sha256(n::text::bytea) from generate_series(1, 60) n`,
      [api.accountId, brand_id],
    );
    await api.database.pool.query(
      `insert into send_keys (account_id, brand_id, display_prefix, digest)
       select $1, $2, 'crl', sha256(n::text::bytea) from generate_series(1, 39) n`,
      [api.accountId, brand_id],
    );
    const answers = await Promise.all([
      create({ brand_id }),
      create({ brand_id, scopes: ['send'] }),
      create({ brand_id }),
    ]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 422, 422]);
  });
});

describe('GET /v1/my/api_keys', () => {
  it('filters by brand, and by whether keys are revoked', async () => {
    const brand_id = await createBrand(api.database.pool, { accountId: api.accountId, companyName: 'Two' });
    const ids = [(await create({ brand_id })).body.id, (await create({ brand_id })).body.id].map(Number);
    expect(await idsOf(`?brand_id=${brand_id}`)).toEqual(ids.toReversed());
    await asOwner('DELETE', `${PATH}/${ids[0]}`);
    expect(await idsOf(`?brand_id=${brand_id}`)).toEqual([ids[1]]);
    expect(await idsOf(`?brand_id=${brand_id}&revoked=true`)).toEqual([ids[0]]);
    expect(await idsOf(`?brand_id=${api.other.brandId}`)).toEqual([]);
  });
});

describe('PATCH /v1/my/api_keys/{id}', () => {
  it('renames a key of the own account only', async () => {
    const { body } = await create({ name: 'old' });
    const renamed = await asOwner('PATCH', `${PATH}/${String(body.id)}`, { name: 'new' });
    expect(renamed.body).toMatchObject({ id: body.id, name: 'new' });
    expect((await asOwner('PATCH', `${PATH}/${api.other.apiKeyId}`, { name: 'new' })).status).toBe(404);
  });
});

describe('DELETE /v1/my/api_keys/{id}', () => {
  it('revokes a key of the own account only, before it responds', async () => {
    const { body } = await create();
    const key = String(body.key);
    expect((await accountWith(key)).status).toBe(200);
    const revoked = await asOwner('DELETE', `${PATH}/${String(body.id)}`);
    expect(revoked.body.revoked_at).toEqual(expect.any(String));
    expect((await accountWith(key)).status).toBe(401);
    expect((await asOwner('DELETE', `${PATH}/${api.other.apiKeyId}`)).status).toBe(404);
    expect((await accountWith(api.other.apiKey)).status).toBe(200);
  });
});
