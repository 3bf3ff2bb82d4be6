// Owners and admins block addresses and domains, which are stored as the senders of mails are compared with them.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { startTestApi, type TestApi, type TestBody } from '../../../support/api.ts';
import { allowInboxes } from '../../../support/inboxes.ts';

const path = '/v1/my/inbox_blocks';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.database.pool.query('delete from inbox_blocks');
  for (const { accountId } of [api, api.other]) await allowInboxes(api.database, accountId);
});

const create = (body: object, token: string | null = api.apiKey) =>
  api.request('POST', path, { body, token });
const fieldsOf = (body: TestBody) => Object.keys(body.validation_errors as object);

it('needs a key, a role, a live key, and the capability', async () => {
  const member = await api.addUser('member');
  const block = { email: 'eve@bad.example' };
  expect((await create(block, null)).status).toBe(401);
  expect((await create(block, member.userJwt)).body.code).toBe('forbidden');
  expect((await create(block, api.testApiKey)).body.code).toBe('test_key');
  await allowInboxes(api.database, api.accountId, false);
  expect((await create(block)).body.code).toBe('forbidden');
});

it('blocks an address or a domain in any spelling, once', async () => {
  const email = await create({ email: 'Eve@BAD.example', domain: null });
  expect([email.status, email.body]).toEqual([
    201,
    { id: expect.any(Number), email: 'eve@bad.example', domain: null, created_at: expect.any(String) },
  ]);
  const domain = await create({ domain: 'BÜCHER.example' });
  expect(domain.body).toMatchObject({ email: null, domain: 'xn--bcher-kva.example' });
  for (const again of [{ email: '"eve"@bad.example' }, { domain: 'bücher.example' }]) {
    expect(await create(again)).toMatchObject({ status: 409, body: { code: 'conflict' } });
  }
  expect((await create({ email: 'eve@bad.example' }, api.other.apiKey)).status).toBe(201);
});

it.each([
  ['neither', {}, 'email'],
  ['both', { email: 'a@b.example', domain: 'b.example' }, 'domain'],
  ['no address', { email: 'eve' }, 'email'],
  ['a name with the address', { email: 'Eve <eve@bad.example>' }, 'email'],
  ['no domain', { domain: 'bad' }, 'domain'],
  ['an address as the domain', { domain: 'eve@bad.example' }, 'domain'],
])('refuses %s', async (_what, body, field) => {
  const refused = await create(body);
  expect([refused.status, fieldsOf(refused.body)]).toEqual([422, [field]]);
});

it('lists the newest first, to members too, and removes', async () => {
  const member = await api.addUser('member');
  const ids = [];
  for (const domain of ['a.example', 'b.example']) ids.unshift((await create({ domain })).body.id);
  const listed = await api.request('GET', path, { token: member.userJwt });
  expect(listed.list.map(({ id }) => id)).toEqual(ids);
  const one = `${path}/${Number(ids[0])}`;
  expect((await api.request('DELETE', one, { token: member.userJwt })).body.code).toBe('forbidden');
  const removed = await api.request('DELETE', one);
  expect([removed.status, removed.body]).toEqual([200, listed.list[0]]);
  expect((await api.request('DELETE', one)).status).toBe(404);
  expect((await api.request('GET', path)).list.map(({ id }) => id)).toEqual([ids[1]]);
});

it('allows 10,000 for each brand', async () => {
  await api.database.pool.query(
    `insert into inbox_blocks (account_id, brand_id, domain)
     select $1, $2, n || '.example' from generate_series(1, 10000) n`,
    [api.accountId, api.brandId],
  );
  const { status, body } = await create({ domain: 'more.example' });
  expect([status, fieldsOf(body)]).toEqual([422, ['inbox_blocks']]);
});
