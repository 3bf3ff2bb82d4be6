// The suppressions API adds, lists and ends suppressions, and suppressed addresses get no mail.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { upkeep } from '../../../src/features/upkeep.ts';
import { startTestApi, type TestApi, type TestBody } from '../../support/api.ts';
import { runTask } from '../../support/housekeeping.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(() => api.database.pool.query('truncate suppressions, soft_bounces'));

const PATH = '/v1/my/suppressions';

const create = (body: unknown, headers = {}) => api.request('POST', PATH, { body, headers });
const list = async (query = '') => (await api.request('GET', `${PATH}${query}`)).list;
const emails = (found: TestBody[]) => found.map(({ email }) => email);

async function insert(values: Record<string, unknown>): Promise<void> {
  const row = { account_id: api.accountId, reason: 'hard_bounce', ...values };
  const names = Object.keys(row);
  await api.database.pool.query(
    `insert into suppressions (${names.join(', ')}) values (${names.map((_, n) => `$${n + 1}`).join(', ')})`,
    Object.values(row),
  );
}

describe('POST /suppressions', () => {
  it('needs an API key', async () => {
    expect((await api.request('POST', PATH, { token: null, body: {} })).status).toBe(401);
  });

  it.each([
    [{}, 'email'],
    [{ email: 'ada@example.com', phone: '+4915112345678' }, 'email'],
    [{ email: 'nobody' }, 'email'],
    [{ phone: '0151' }, 'phone'],
    [{ email: 'ada@example.com', reason: 'complaint' }, 'reason'],
    [{ email: 'ada@example.com', expires_at: '2001-01-01T00:00:00Z' }, 'expires_at'],
    [{ email: 'ada@example.com', diagnostic: 'x'.repeat(501) }, 'diagnostic'],
  ])('refuses %j', async (body, field) => {
    const { status, body: error } = await create(body);
    expect([status, Object.keys(error.validation_errors ?? {})]).toEqual([422, [field]]);
  });

  it('suppresses an address manually, in any spelling', async () => {
    const { status, body } = await create({ email: 'Ada@BÜCHER.example', diagnostic: 'asked by phone' });
    expect(status).toBe(201);
    expect(body).toEqual({
      ...{
        id: expect.any(Number),
        account_id: api.accountId,
        email: 'ada@xn--bcher-kva.example',
        phone: null,
      },
      ...{ reason: 'manual', source_provider: null, diagnostic: 'asked by phone', active: true },
      ...{ expires_at: null, created_at: expect.any(String), ended_by: null },
    });
    const again = await create({ email: 'ada@bücher.example' });
    expect([again.status, again.body.id]).toEqual([200, body.id]);
  });

  it('replays the response to a repeated key', async () => {
    const headers = { 'Idempotency-Key': 'one' };
    const first = await create({ phone: '+4915112345678' }, headers);
    const second = await create({ phone: '+4915112345678' }, headers);
    expect([first.status, second.status, second.headers.get('idempotent-replayed')]).toEqual([
      201,
      201,
      'true',
    ]);
    expect(second.body).toEqual(first.body);
  });

  it('makes emails to the address fail', async () => {
    await create({ email: 'ada@example.com' });
    const listed = await list('?email=ADA@example.com');
    expect(emails(listed)).toEqual(['ada@example.com']);
    const { rows } = await api.database.pool.query<{ suppressed: boolean }>(
      `select is_suppressed($1, 'ada@example.com', false) as suppressed`,
      [api.accountId],
    );
    expect(rows).toEqual([{ suppressed: true }]);
  });
});

describe('GET /suppressions', () => {
  beforeEach(async () => {
    await insert({ address_key: 'a@x.test', email: 'a@x.test', source_provider: 'ses' });
    await insert({
      address_key: 'b@x.test',
      email: 'b@x.test',
      reason: 'complaint',
      source_provider: 'smtp',
    });
    await insert({ address_key: 'c@x.test', email: 'c@x.test', released_at: new Date() });
    await insert({ address_key: 'd@x.test', email: 'd@x.test', expires_at: new Date(Date.now() - 1_000) });
    await insert({ address_key: 'e@x.test', email: 'e@x.test', expires_at: new Date(Date.now() + 60_000) });
    await insert({ account_id: api.other.accountId, address_key: 'f@x.test', email: 'f@x.test' });
  });

  it.each([
    ['', ['e@x.test', 'b@x.test', 'a@x.test']],
    ['?active=true', ['e@x.test', 'b@x.test', 'a@x.test']],
    ['?active=false', ['d@x.test', 'c@x.test']],
    ['?email=B@x.test', ['b@x.test']],
    ['?email=c@x.test', []],
    ['?email=f@x.test', []],
    ['?email=nothing', []],
    ['?reason=complaint', ['b@x.test']],
    ['?source_provider=ses', ['a@x.test']],
    ['?phone=%2B4915112345678', []],
    ['?limit=1&page=2', ['b@x.test']],
  ])('lists the matches of %j, newest first', async (query, expected) => {
    expect(emails(await list(query))).toEqual(expected);
  });

  it('counts the matches and refuses unknown filters', async () => {
    const { headers } = await api.request('GET', `${PATH}?limit=1`);
    expect(headers.get('x-total-count')).toBe('3');
    expect((await api.request('GET', `${PATH}?status=active`)).status).toBe(422);
    expect((await api.request('GET', `${PATH}?active=maybe`)).status).toBe(422);
  });
});

describe('DELETE /suppressions/{id}', () => {
  it('ends the suppression and deletes soft bounces, and changes nothing the second time', async () => {
    const { body } = await create({ email: 'ada@example.com' });
    await api.database.pool.query(
      `insert into soft_bounces (account_id, address_key, count) values ($1, 'ada@example.com', 2)`,
      [api.accountId],
    );
    const path = `${PATH}/${Number(body.id)}`;
    const ended = await api.request('DELETE', path);
    expect([ended.status, ended.body]).toEqual([
      200,
      { ...body, active: false, ended_by: { kind: 'api_key', id: api.apiKeyId } },
    ]);
    expect(await list()).toEqual([]);
    expect(emails(await list('?active=false'))).toEqual(['ada@example.com']);
    expect((await api.database.pool.query('select 1 from soft_bounces')).rowCount).toBe(0);
    expect((await api.request('DELETE', path)).body).toEqual(ended.body);
  });
});

describe('a complaint or hard bounce', () => {
  const reasons = ['complaint', 'hard_bounce'] as const;
  const bulk = (token: string, remove: string[]) =>
    api.request('POST', `${PATH}/bulk`, { token, body: { remove } });
  async function ids(): Promise<number[]> {
    for (const reason of reasons)
      await insert({ address_key: `${reason}@x.test`, email: `${reason}@x.test`, reason });
    return (await list()).map(({ id }) => Number(id)).reverse();
  }
  const releases = async () =>
    (
      await api.database.pool.query<{ reason: string; user_id: number | null; api_key_id: number | null }>(
        'select reason, user_id, api_key_id from suppression_releases where address_key like $1 order by id desc',
        ['%@x.test'],
      )
    ).rows;

  it('cannot be ended by an API key or a member', async () => {
    const [first, second] = await ids();
    const { userJwt: member } = await api.addUser('member');
    for (const token of [api.apiKey, member]) {
      for (const id of [first, second]) {
        const { status, body } = await api.request('DELETE', `${PATH}/${id}`, { token });
        expect([status, body.code]).toEqual([403, 'forbidden']);
      }
      const { body } = await bulk(token, ['complaint@x.test', 'hard_bounce@x.test', 'nobody@x.test']);
      expect(body.results).toEqual([
        ...reasons.map((reason, index) => ({
          ...{ input: `${reason}@x.test`, status: 'forbidden', suppression_id: [first, second][index] },
          reason: 'only an owner or admin who has logged in can end a complaint or hard bounce',
        })),
        { input: 'nobody@x.test', status: 'not_found', suppression_id: null, reason: null },
      ]);
    }
    expect(emails(await list())).toEqual(['hard_bounce@x.test', 'complaint@x.test']);
  });

  it('can be ended by an owner or an admin, who is recorded', async () => {
    const [first, second] = await ids();
    const { userJwt: admin, userId: adminId } = await api.addUser('admin');
    const ended = await api.request('DELETE', `${PATH}/${first}`, { token: api.userJwt });
    expect([ended.status, ended.body.active, ended.body.ended_by]).toEqual([
      ...[200, false],
      { kind: 'user', id: api.userId },
    ]);
    const { body } = await bulk(admin, ['hard_bounce@x.test']);
    expect(body.results).toMatchObject([{ status: 'removed', suppression_id: second }]);
    expect((await list('?active=false')).map(({ ended_by }) => ended_by)).toEqual([
      { kind: 'user', id: adminId },
      { kind: 'user', id: api.userId },
    ]);
    await create({ email: 'complaint@x.test' });
    expect((await list())[0]?.ended_by).toBeNull();
    const [{ id } = { id: 0 }] = (await list()) as unknown as { id: number }[];
    expect((await api.request('DELETE', `${PATH}/${id}`)).status).toBe(200);
    expect((await releases()).slice(0, 3)).toEqual([
      { reason: 'manual', user_id: null, api_key_id: api.apiKeyId },
      { reason: 'hard_bounce', user_id: adminId, api_key_id: null },
      { reason: 'complaint', user_id: api.userId, api_key_id: null },
    ]);
  });
});

describe('the record of who ended a suppression', () => {
  it('is kept for 400 days for manual suppressions and soft bounces, and otherwise permanently', async () => {
    await api.database.pool.query('truncate suppression_releases');
    for (const reason of ['manual', 'soft_bounce', 'complaint', 'hard_bounce']) {
      for (const days of [399, 401]) {
        await api.database.pool.query(
          `insert into suppression_releases (account_id, suppression_id, address_key, reason, user_id, created_at)
           values ($1, 1, 'ada@x.test', $2, 1, now() - $3 * interval '1 day')`,
          [api.accountId, reason, days],
        );
      }
    }
    const task = upkeep.tasks.find(({ name }) => name === 'suppression_releases');
    if (task) await runTask(api.database, task, new Date());
    const { rows } = await api.database.pool.query<{ reason: string; n: number }>(
      'select reason, count(*)::int as n from suppression_releases group by 1 order by 1',
    );
    expect(rows).toEqual([
      { reason: 'complaint', n: 2 },
      { reason: 'hard_bounce', n: 2 },
      { reason: 'manual', n: 1 },
      { reason: 'soft_bounce', n: 1 },
    ]);
  });
});

describe('POST /suppressions/bulk', () => {
  const bulk = (body: unknown) => api.request('POST', `${PATH}/bulk`, { body });

  it('returns a result for each item', async () => {
    await insert({ address_key: 'old@x.test', email: 'old@x.test', reason: 'manual' });
    const { status, body } = await bulk({
      add: ['new@x.test', 'NEW@x.test', 'old@x.test', 'nobody', '+4915112345678'],
      remove: ['gone@x.test', 'x'],
    });
    expect(status).toBe(200);
    expect(body.results).toMatchObject([
      { input: 'new@x.test', status: 'added', suppression_id: expect.any(Number), reason: null },
      { input: 'NEW@x.test', status: 'already_there', suppression_id: expect.any(Number) },
      { input: 'old@x.test', status: 'already_there', suppression_id: expect.any(Number) },
      { input: 'nobody', status: 'invalid', suppression_id: null, reason: expect.any(String) },
      { input: '+4915112345678', status: 'added' },
      { input: 'gone@x.test', status: 'not_found', suppression_id: null },
      { input: 'x', status: 'invalid' },
    ]);
    const removed = await bulk({ remove: ['old@x.test', 'OLD@x.test'] });
    expect(removed.body.results).toMatchObject([{ status: 'removed' }, { status: 'not_found' }]);
    expect((await list()).map(({ email, phone }) => email ?? phone).sort()).toEqual([
      '+4915112345678',
      'new@x.test',
    ]);
  });

  it('refuses an address in both arrays, and more than 10,000 items', async () => {
    const both = await bulk({ add: ['a@x.test'], remove: ['A@x.test'] });
    expect([both.status, Object.keys(both.body.validation_errors ?? {})]).toEqual([422, ['remove']]);
    const many = Array.from({ length: 10_001 }, (_, n) => `u${n}@x.test`);
    expect((await bulk({ add: many })).status).toBe(422);
    expect(await list()).toEqual([]);
  });

  it('accepts 10,000 addresses', async () => {
    const many = Array.from({ length: 10_000 }, (_, n) => `u${n}@x.test`);
    const { status, body } = await bulk({ add: many });
    expect(status).toBe(200);
    expect(body.results).toHaveLength(10_000);
    const { rows } = await api.database.pool.query('select count(*) from suppressions');
    expect(rows).toEqual([{ count: 10_000 }]);
  });
});
