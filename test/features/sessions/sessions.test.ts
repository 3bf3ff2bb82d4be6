// Users see and end their own sessions, and confirm one by the password, which replaces it.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sessionsUpkeep } from '../../../src/features/sessions/upkeep.ts';
import { setPassword } from '../../../src/features/users/service.ts';
import { createLastUses } from '../../../src/platform/auth/last-use.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import pino from 'pino';
import { startTestApi, TEST_PASSWORD, type TestApi } from '../../support/api.ts';
import { runTask } from '../../support/housekeeping.ts';
import { countWaiting } from '../../support/waiting.ts';
import { eventually } from '../../support/eventually.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

const get = (token: string, path: string) => api.request('GET', path, { token });
const statusOf = async (token: string) => (await get(token, '/v1/my/session')).status;
const remove = (token: string, path: string) => api.request('DELETE', path, { token });
const bearerOf = (answer: { headers: Headers }) =>
  (answer.headers.get('authorization') ?? '').replace('Bearer ', '');

async function logIn(email: string, password = TEST_PASSWORD): Promise<string> {
  const answer = await api.request('POST', '/v1/login', {
    token: null,
    headers: { 'User-Agent': `Test ${'x'.repeat(500)}` },
    body: { user: { email, password } },
  });
  return bearerOf(answer);
}

async function expire(userId: number, change: string): Promise<void> {
  await api.database.pool.query(`update sessions set ${change} where user_id = $1`, [userId]);
}

describe('GET /v1/my/sessions', () => {
  it('lists the user’s own sessions, newest first, and marks the current one', async () => {
    const { email, userJwt } = await api.addUser('member');
    const token = await logIn(email);
    const { status, list } = await get(token, '/v1/my/sessions');
    expect([status, list.length]).toEqual([200, 2]);
    const current = await get(token, '/v1/my/session');
    expect(list[0]).toEqual(current.body);
    expect(current.body).toMatchObject({
      kind: 'token',
      current: true,
      network: '127.0.0.1',
      second_factor: false,
    });
    expect(String(current.body.user_agent)).toHaveLength(400);
    const lifetime =
      Date.parse(String(current.body.expires_at)) - Date.parse(String(current.body.created_at));
    expect(lifetime).toBe(86_400_000);
    expect((await get(userJwt, '/v1/my/sessions')).list.map((each) => each.current)).toEqual([false, true]);
  });

  it('leaves out sessions that have expired, which housekeeping then removes', async () => {
    const { userId, email, userJwt } = await api.addUser('member');
    await api.signIn(email);
    await expire(userId, `last_used_at = now() - interval '13 hours'`);
    expect((await get(userJwt, '/v1/my/sessions')).list.map((each) => each.kind)).toEqual(['token']);
    const task = sessionsUpkeep.tasks?.find(({ name }) => name === 'sessions');
    const kept = async () => {
      if (task) await runTask(api.database, task, new Date());
      return (await api.database.pool.query('select 1 from sessions where user_id = $1', [userId])).rowCount;
    };
    expect(await kept()).toBe(1);
    await expire(userId, `expires_at = now() - interval '1 second'`);
    expect(await kept()).toBe(0);
    expect(await statusOf(api.userJwt)).toBe(200);
  });
});

describe('a session', () => {
  it('ends at once when its user ends it, here or from another session', async () => {
    const { email, userJwt } = await api.addUser('member');
    const [one, two] = [await logIn(email), await logIn(email)];
    const { body } = await get(one, '/v1/my/session');
    expect((await remove(two, `/v1/my/sessions/${String(body.id)}`)).body.id).toBe(body.id);
    expect([await statusOf(one), await statusOf(two)]).toEqual([401, 200]);
    expect((await remove(two, '/v1/my/session')).status).toBe(200);
    expect([await statusOf(two), await statusOf(userJwt)]).toEqual([401, 200]);
  });

  it('of another user is 404, and stays', async () => {
    const { userJwt } = await api.addUser('member');
    const { body } = await get(api.userJwt, '/v1/my/session');
    const answer = await remove(userJwt, `/v1/my/sessions/${String(body.id)}`);
    expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
    expect(await statusOf(api.userJwt)).toBe(200);
  });

  it('stays when its user ends all others', async () => {
    const { email, userJwt } = await api.addUser('member');
    const token = await logIn(email);
    expect((await remove(token, '/v1/my/sessions')).list.map((each) => each.current)).toEqual([true]);
    expect([await statusOf(token), await statusOf(userJwt), await statusOf(api.userJwt)]).toEqual([
      200, 401, 200,
    ]);
  });

  it('is refused to an API key', async () => {
    for (const path of ['/v1/my/session', '/v1/my/sessions', '/v1/my/accounts']) {
      for (const token of [api.apiKey, api.testApiKey]) {
        const { status, body } = await get(token, path);
        expect([path, status, body.code]).toEqual([path, 403, 'forbidden']);
      }
    }
  });

  it('records its last use at most once a minute', async () => {
    const { userId, userJwt } = await api.addUser('member');
    const { body } = await get(userJwt, '/v1/my/session');
    let nowMs = 0;
    const uses = createLastUses(api.database.pool, ['sessions'], pino({ level: 'silent' }), () => nowMs);
    const isRecorded = async () => {
      await expire(userId, `last_used_at = '2000-01-01'`);
      uses.used(Number(body.id));
      await uses.flush();
      const { rows } = await api.database.pool.query<{ recent: boolean }>(
        `select last_used_at > '2001-01-01' as recent from sessions where user_id = $1`,
        [userId],
      );
      return rows[0]?.recent;
    };
    expect(await isRecorded()).toBe(true);
    nowMs = 59_999;
    expect(await isRecorded()).toBe(false);
    nowMs = 60_001;
    expect(await isRecorded()).toBe(true);
    await uses.stop();
  });

  it('that starts while the password changes is refused', async () => {
    const { userId, email } = await api.addUser('member');
    const { pool } = api.database;
    const started = await inTransaction(pool, async (trx) => {
      await setPassword(trx, userId, 'another long password');
      const answer = api.request('POST', '/v1/login', {
        token: null,
        body: { user: { email, password: TEST_PASSWORD } },
      });
      await eventually(async () => expect(await countWaiting(pool)).toBe(1));
      return { answer };
    });
    expect((await started.answer).status).toBe(401);
    expect((await pool.query('select 1 from sessions where user_id = $1', [userId])).rowCount).toBe(0);
  });
});

describe('POST /v1/my/session/confirm', () => {
  const confirm = (token: string, password: string) =>
    api.request('POST', '/v1/my/session/confirm', { token, body: { password } });
  const webhook = (token: string) =>
    api.request('POST', '/v1/my/webhooks', { token, body: { url: 'https://x.test/', events: ['nonsense'] } });

  it('is asked for after fifteen minutes, of users only', async () => {
    const { userId, userJwt } = await api.addUser('admin');
    expect((await webhook(userJwt)).status).toBe(422);
    await expire(userId, `confirmed_at = now() - interval '16 minutes'`);
    const refused = await webhook(userJwt);
    expect([refused.status, refused.body.code]).toEqual([403, 'confirmation_required']);
    expect((await webhook(api.apiKey)).status).toBe(422);
    expect((await get(userJwt, '/v1/my/webhooks/1?reveal=true')).body.code).toBe('confirmation_required');
    expect((await get(userJwt, '/v1/my/webhooks/1')).body.code).toBe('not_found');
    const change = (body: object) => api.request('PATCH', '/v1/my/webhooks/1', { token: userJwt, body });
    expect((await change({ url: 'https://x.test/' })).body.code).toBe('confirmation_required');
    expect((await change({ enabled: false })).body.code).toBe('not_found');
  });

  it('replaces the session by one that is confirmed, and expires when the old one would have', async () => {
    const { userId, userJwt } = await api.addUser('admin');
    await expire(
      userId,
      `confirmed_at = now() - interval '16 minutes', expires_at = now() + interval '1 hour'`,
    );
    const before = await get(userJwt, '/v1/my/session');
    const answer = await confirm(userJwt, TEST_PASSWORD);
    expect(answer.status).toBe(200);
    expect(answer.body.id).not.toBe(before.body.id);
    expect(answer.body.expires_at).toBe(before.body.expires_at);
    const renewed = bearerOf(answer);
    expect([await statusOf(userJwt), await statusOf(renewed)]).toEqual([401, 200]);
    expect((await webhook(renewed)).status).toBe(422);
    expect((await get(renewed, '/v1/my/sessions')).list).toHaveLength(1);
  });

  it('refuses a wrong password and changes nothing; ten a minute', async () => {
    const { userJwt } = await api.addUser('admin');
    const wrong = await confirm(userJwt, 'guess');
    expect([wrong.status, wrong.body.code]).toEqual([401, 'unauthorized']);
    expect(await statusOf(userJwt)).toBe(200);
    const statuses = await Promise.all(
      Array.from({ length: 30 }, async () => (await confirm(userJwt, 'guess')).status),
    );
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
  });
});

describe('X-Account-Id', () => {
  const asked = (token: string, headers: Record<string, string>) =>
    api.request('GET', '/v1/my/account', { token, headers });
  let second: number;
  let brandOfSecond: number;
  let user: Awaited<ReturnType<TestApi['addUser']>>;
  beforeAll(async () => {
    user = await api.addUser('member');
    const { rows } = await api.database.pool.query<{ id: number }>(
      `insert into accounts (name) values ('Second') returning id`,
    );
    second = rows[0]?.id ?? 0;
    await api.database.pool.query(
      `insert into memberships (account_id, user_id, role, created_at) values ($1, $2, 'owner', now() + interval '1 s')`,
      [second, user.userId],
    );
  });

  it('chooses among the accounts of the user, also one without brands', async () => {
    expect((await asked(user.userJwt, {})).body.id).toBe(api.accountId);
    expect((await asked(user.userJwt, { 'X-Account-Id': String(second) })).body.id).toBe(second);
    const other = await asked(user.userJwt, { 'X-Account-Id': String(api.other.accountId) });
    expect([other.status, other.body.code]).toEqual([404, 'not_found']);
    const { list } = await get(user.userJwt, '/v1/my/accounts');
    expect(list).toEqual([
      {
        id: api.accountId,
        name: 'Acme',
        role: 'member',
        brands: [{ id: api.brandId, company_name: 'Acme' }],
      },
      { id: second, name: 'Second', role: 'owner', brands: [] },
    ]);
  });

  it('is 404 together with a brand of another account', async () => {
    const made = await api.database.pool.query<{ id: number }>(
      `insert into brands (account_id, company_name) values ($1, 'Two') returning id`,
      [second],
    );
    brandOfSecond = made.rows[0]?.id ?? 0;
    const both = (accountId: number, brandId: number) =>
      asked(user.userJwt, { 'X-Account-Id': String(accountId), 'X-Brand-Id': String(brandId) });
    expect((await both(second, brandOfSecond)).body.id).toBe(second);
    expect((await both(api.accountId, brandOfSecond)).status).toBe(404);
    expect((await both(second, api.brandId)).status).toBe(404);
    expect((await asked(user.userJwt, { 'X-Brand-Id': String(brandOfSecond) })).body.id).toBe(second);
  });

  it('of a key may only be its own account', async () => {
    expect((await asked(api.apiKey, { 'X-Account-Id': String(api.accountId) })).status).toBe(200);
    expect((await asked(api.apiKey, { 'X-Account-Id': String(api.other.accountId) })).status).toBe(404);
  });

  it('is 422 if it is malformed', async () => {
    const answer = await asked(user.userJwt, { 'X-Account-Id': '1.0' });
    expect([answer.status, Object.keys(answer.body.validation_errors ?? {})]).toEqual([
      422,
      ['X-Account-Id'],
    ]);
  });
});
