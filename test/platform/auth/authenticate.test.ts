// Only valid API keys and session tokens authenticate, and only for their own tenant and role.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SignJWT } from 'jose';
import pino from 'pino';
import { createApiKey, revokeApiKey } from '../../../src/features/api-keys/service.ts';
import { createBrand } from '../../../src/features/brands/service.ts';
import { setPassword } from '../../../src/features/users/service.ts';
import { createLastUses } from '../../../src/platform/auth/last-use.ts';
import { insertSession } from '../../../src/platform/auth/session-rows.ts';
import { createSessionTokens } from '../../../src/platform/auth/session-token.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { startTestApi, TEST_SECRET, type TestApi } from '../../support/api.ts';
import { probeRoutes } from '../../support/probe-routes.ts';

const PREVIOUS_SECRET = 'the secret before that is also long enough';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ extraRoutes: probeRoutes, env: { APP_SECRET_PREVIOUS: PREVIOUS_SECRET } });
});
afterAll(() => api.close());

const tenantOf = (token: string | null, headers: Record<string, string> = {}) =>
  api.request('GET', '/v1/my/probe/tenant', { token, headers });

async function statusOf(token: string | null, headers: Record<string, string> = {}): Promise<number> {
  return (await tenantOf(token, headers)).status;
}

describe('a request without valid credentials', () => {
  it('is 401 with a challenge', async () => {
    const answer = await tenantOf(null);
    expect(answer.status).toBe(401);
    expect(answer.body.code).toBe('unauthorized');
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
  });

  it.each([
    ['another scheme', 'Basic dXNlcjpwYXNz'],
    ['no token', 'Bearer '],
    ['two tokens', 'Bearer a b'],
    ['nonsense', 'Bearer nonsense'],
    ['nonsense with dots', 'Bearer a.b.c'],
    ['an unsigned token', 'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIiwic3YiOjEsImF1ZCI6ImFwaSJ9.'],
  ])('is 401 for %s', async (_what, authorization) => {
    expect(await statusOf(null, { Authorization: authorization })).toBe(401);
  });

  it('is 401 on every route that requires authentication', async () => {
    const open = api.routes.filter((route) => route.auth === 'none').map((route) => route.operationId);
    expect(open).toEqual(expect.arrayContaining(['login', 'getHealth', 'getReadiness']));
    for (const route of api.routes.filter((each) => each.auth !== 'none')) {
      const path = route.path.replaceAll(/:\w+/g, '1');
      const answer = await api.request(route.method, path, { token: null });
      expect([route.operationId, answer.status]).toEqual([route.operationId, 401]);
    }
  });
});

describe('an API key', () => {
  it('acts as an admin of its own brand', async () => {
    expect((await tenantOf(api.apiKey)).body).toEqual({
      accountId: api.accountId,
      brandId: api.brandId,
      actor: { kind: 'api_key', id: api.apiKeyId, test: false },
      role: 'admin',
    });
    expect((await tenantOf(api.testApiKey)).body.actor?.test).toBe(true);
  });

  it('is refused with one character changed', async () => {
    const last = api.apiKey.at(-1) === 'a' ? 'b' : 'a';
    expect(await statusOf(api.apiKey.slice(0, -1) + last)).toBe(401);
    expect(await statusOf(api.apiKey.toUpperCase())).toBe(401);
  });

  it('is refused once its revocation is confirmed, even among concurrent requests', async () => {
    const { apiKey, key } = await createApiKey(api.database.pool, { accountId: api.accountId });
    expect(await Promise.all(Array.from({ length: 20 }, () => statusOf(key)))).toEqual(Array(20).fill(200));
    const running = Array.from({ length: 20 }, () => statusOf(key));
    await revokeApiKey(api.database.pool, apiKey.id);
    const after = await Promise.all(Array.from({ length: 20 }, () => statusOf(key)));
    await Promise.all(running);
    expect(after).toEqual(Array(20).fill(401));
  });

  it('is not mixed up with other keys under concurrent requests', async () => {
    const keys = [api.apiKey, api.testApiKey, api.other.apiKey, `${api.apiKey.slice(0, -1)}!`];
    const answers = await Promise.all(
      Array.from({ length: 80 }, (_, index) => tenantOf(keys[index % 4] ?? null)),
    );
    answers.forEach((answer, index) => {
      const expected = [api.accountId, api.accountId, api.other.accountId, undefined][index % 4];
      expect(answer.body.accountId).toBe(expected);
    });
  });

  it('is 404 for another brand in X-Brand-Id', async () => {
    const another = await createBrand(api.database.pool, { accountId: api.accountId, companyName: 'Two' });
    expect(await statusOf(api.apiKey, { 'X-Brand-Id': String(api.brandId) })).toBe(200);
    expect(await statusOf(api.apiKey, { 'X-Brand-Id': String(another) })).toBe(404);
    expect(await statusOf(api.apiKey, { 'X-Brand-Id': String(api.other.brandId) })).toBe(404);
  });

  it('records its last use at most once a minute', async () => {
    let nowMs = 0;
    const usage = createLastUses(
      api.database.pool,
      ['api_keys', 'send_keys'],
      pino({ level: 'silent' }),
      () => nowMs,
    );
    const lastUse = async () => {
      await usage.flush();
      const { rows } = await api.database.pool.query<{ last_used_at: Date | null }>(
        'select last_used_at from api_keys where id = $1',
        [api.other.apiKeyId],
      );
      return rows[0]?.last_used_at?.getTime() ?? 0;
    };
    const forget = () =>
      api.database.pool.query('update api_keys set last_used_at = null where id = $1', [api.other.apiKeyId]);
    usage.used(api.other.apiKeyId);
    expect(await lastUse()).toBeGreaterThan(Date.now() - 60_000);
    await forget();
    nowMs = 59_999;
    usage.used(api.other.apiKeyId);
    expect(await lastUse()).toBe(0);
    nowMs = 60_001;
    usage.used(api.other.apiKeyId);
    expect(await lastUse()).toBeGreaterThan(0);
    await usage.stop();
  });
});

describe('a session token', () => {
  const tokens = createSessionTokens(createKeyring(TEST_SECRET));
  /** Claims of a new session of the owner. */
  async function session() {
    const { userId } = api;
    const { session: row } = await insertSession(api.database.pool, {
      ...{ userId, kind: 'token', secondFactor: false, network: null, userAgent: null },
    });
    return { userId, sessionId: row.id, expiresAt: row.expiresAt };
  }

  it('acts for its user in the account’s first brand', async () => {
    expect((await tenantOf(api.userJwt)).body).toEqual({
      accountId: api.accountId,
      brandId: api.brandId,
      actor: { kind: 'user', id: api.userId, role: 'owner' },
      role: 'owner',
    });
  });

  it('is refused if it is for another audience, expired, or signed with another secret', async () => {
    const strangers = createSessionTokens(createKeyring('a secret that is not ours, long enough'));
    const good = await session();
    const past = { ...good, expiresAt: new Date(Date.now() - 5_000) };
    expect(await statusOf(await tokens.issue(good, 'api'))).toBe(200);
    expect(await statusOf(await tokens.issue(good, 'mcp'))).toBe(401);
    expect(await statusOf(await tokens.issue(past, 'api'))).toBe(401);
    expect(await statusOf(await strangers.issue(good, 'api'))).toBe(401);
  });

  it('is refused if its session is another user’s, or has ended, or expired, or if it names none', async () => {
    const { userId, sessionId, expiresAt } = await session();
    const issue = (claims: object) => tokens.issue({ userId, sessionId, expiresAt, ...claims }, 'api');
    const token = await issue({});
    expect(await statusOf(await issue({ userId: api.other.userId }))).toBe(401);
    expect(await statusOf(await issue({ sessionId: 999_999 }))).toBe(401);
    const { id, key } = createKeyring(TEST_SECRET).subkey('jwt');
    const old = new SignJWT({ sv: 1 })
      .setProtectedHeader({ alg: 'HS256', kid: id })
      .setIssuer('carillon')
      .setAudience('api')
      .setSubject(String(userId));
    expect(await statusOf(await old.setExpirationTime('1h').sign(key))).toBe(401);
    const { pool } = api.database;
    await pool.query(`update sessions set expires_at = now() where id = $1`, [sessionId]);
    expect(await statusOf(token)).toBe(401);
    await pool.query(`update sessions set expires_at = $2 where id = $1`, [sessionId, expiresAt]);
    expect(await statusOf(token)).toBe(200);
    await pool.query(`delete from sessions where id = $1`, [sessionId]);
    expect(await statusOf(token)).toBe(401);
  });

  it('is refused with another algorithm, even if signed with our key', async () => {
    const { id, key } = createKeyring(TEST_SECRET).subkey('jwt');
    const { sessionId } = await session();
    const sign = (alg: string) =>
      new SignJWT({ sid: String(sessionId) })
        .setProtectedHeader({ alg, kid: id })
        .setIssuer('carillon')
        .setAudience('api')
        .setSubject(String(api.userId))
        .setExpirationTime('1h')
        .sign(key);
    expect(await statusOf(await sign('HS256'))).toBe(200);
    expect(await statusOf(await sign('HS512'))).toBe(401);
  });

  it('remains valid after a change of APP_SECRET while the previous secret is configured', async () => {
    const before = createSessionTokens(createKeyring(PREVIOUS_SECRET));
    expect(await statusOf(await before.issue(await session(), 'api'))).toBe(200);
  });

  it('reaches no account once the user has left it, and ends when the password changes', async () => {
    const leaver = await api.addUser('member');
    expect(await statusOf(leaver.userJwt)).toBe(200);
    await api.database.pool.query('delete from memberships where user_id = $1', [leaver.userId]);
    const left = await tenantOf(leaver.userJwt);
    expect([left.status, left.body.code]).toEqual([403, 'forbidden']);

    const changer = await api.addUser('member');
    await setPassword(api.database.pool, changer.userId, 'another long password');
    expect(await statusOf(changer.userJwt)).toBe(401);
  });

  it('selects a brand by X-Brand-Id; another tenant’s is 404, a malformed id is 422', async () => {
    const second = await createBrand(api.database.pool, { accountId: api.accountId, companyName: 'Three' });
    const chosen = await tenantOf(api.userJwt, { 'X-Brand-Id': String(second) });
    expect(chosen.body.brandId).toBe(second);
    const foreign = await tenantOf(api.userJwt, { 'X-Brand-Id': String(api.other.brandId) });
    expect([foreign.status, foreign.body.code]).toEqual([404, 'not_found']);
    for (const malformed of ['x', '0', '-1', '1.5', '99999999999999999999']) {
      const answer = await tenantOf(api.userJwt, { 'X-Brand-Id': malformed });
      expect([answer.status, Object.keys(answer.body.validation_errors ?? {})]).toEqual([
        422,
        ['X-Brand-Id'],
      ]);
    }
  });

  it('gets brand_required on a route that needs a brand if the account has none', async () => {
    const { rows } = await api.database.pool.query<{ id: number }>(
      `insert into accounts (name) values ('Brandless') returning id`,
    );
    await api.database.pool.query(
      `insert into memberships (account_id, user_id, role) values ($1, $2, 'owner')`,
      [rows[0]?.id, api.other.userId],
    );
    await api.database.pool.query('delete from memberships where account_id = $1 and user_id = $2', [
      api.other.accountId,
      api.other.userId,
    ]);
    const answer = await tenantOf(api.other.userJwt);
    expect([answer.status, answer.body.code]).toEqual([422, 'brand_required']);
    const brand = await api.request('GET', '/v1/my/brand', { token: api.other.userJwt });
    expect([brand.status, brand.text]).toEqual([200, 'null']);
    const made = await Promise.all(
      ['One', 'Two'].map((company_name) =>
        api.request('PUT', '/v1/my/brand', { token: api.other.userJwt, body: { company_name } }),
      ),
    );
    expect(made.map((each) => each.status)).toEqual([200, 200]);
    expect(made[0]?.body.id).toBe(made[1]?.body.id);
    expect(await statusOf(api.other.userJwt)).toBe(200);
  });
});

describe('a role', () => {
  const asked = async (token: string) => (await api.request('GET', '/v1/my/probe/admins', { token })).status;

  it('is 403 if the route does not list it', async () => {
    const member = await api.addUser('member');
    const admin = await api.addUser('admin');
    expect(await asked(member.userJwt)).toBe(403);
    expect(await asked(admin.userJwt)).toBe(200);
    expect(await asked(api.userJwt)).toBe(200);
    expect(await asked(api.apiKey)).toBe(200);
  });

  it('is read on each request', async () => {
    const rising = await api.addUser('member');
    await api.database.pool.query(`update memberships set role = 'admin' where user_id = $1`, [
      rising.userId,
    ]);
    expect(await asked(rising.userJwt)).toBe(200);
  });

  it('member is refused on every route that does not list it', async () => {
    const member = await api.addUser('member');
    for (const route of api.routes.filter((each) => each.roles && !each.roles.includes('member'))) {
      const path = route.path.replaceAll(/:\w+/g, '1');
      const body = route.method === 'GET' ? undefined : {};
      const answer = await api.request(route.method, path, { token: member.userJwt, body });
      expect([route.operationId, answer.status]).toEqual([route.operationId, 403]);
    }
  });
});
