// Proves that a code or refresh token works once, that a lost answer can be asked for again, and that a copy ends the grant.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { findGrantCaller } from '../../../src/features/oauth/index.ts';
import { startTestApi, type TestApi, type TestResponse } from '../../support/api.ts';
import { type OauthClient, startClient } from '../../support/oauth.ts';

let api: TestApi;
let client: OauthClient;
let tokens: { access: string; refresh: string };
beforeAll(async () => {
  api = await startTestApi();
  client = await startClient(api);
});
afterAll(() => api.close());

const tokensIn = ({ body }: TestResponse) => ({
  access: String(body.access_token),
  refresh: String(body.refresh_token),
});
beforeEach(async () => {
  tokens = tokensIn(await client.exchange(await client.code('mcp:read mcp:write')));
});

const isValid = async (accessToken: string) =>
  (await findGrantCaller(api.database.pool, accessToken, `${api.baseUrl}/mcp`)) !== null;

/** Lets the 60 seconds pass in which an answer is repeated. */
const passRepeatableTime = () =>
  api.database.pool.query("update oauth_tokens set consumed_at = consumed_at - interval '61 seconds'");

async function countTokens(model: string): Promise<number> {
  const { rows } = await api.database.pool.query<{ count: number }>(
    'select count(*)::int as count from oauth_tokens where model = $1',
    [model],
  );
  return rows[0]?.count ?? 0;
}

describe('a refresh token', () => {
  it('gives one new pair to twenty requests at once, and all of them the same', async () => {
    const before = await countTokens('AccessToken');
    const answers = await Promise.all(Array.from({ length: 20 }, () => client.refresh(tokens.refresh)));
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(await countTokens('AccessToken')).toBe(before + 1);
    const next = tokensIn(answers[0] as TestResponse);
    expect(next.refresh).not.toBe(tokens.refresh);
    expect(await isValid(next.access)).toBe(true);
  });

  it('ends the grant if it is used again later', async () => {
    const next = tokensIn(await client.refresh(tokens.refresh));
    await passRepeatableTime();
    expect((await client.refresh(tokens.refresh)).body.error).toBe('invalid_grant');
    expect(await isValid(next.access)).toBe(false);
    expect((await client.refresh(next.refresh)).body.error).toBe('invalid_grant');
  });

  it('still works after a refused request', async () => {
    const requests: Record<string, string>[] = [
      { scope: 'mcp:read mcp:send' },
      { resource: 'https://elsewhere.test/mcp' },
    ];
    for (const parameters of requests) {
      const refused = await client.refresh(tokens.refresh, parameters);
      expect([refused.status, refused.body.error]).toEqual([
        400,
        expect.stringMatching(/^invalid_(scope|target)$/),
      ]);
    }
    expect((await client.refresh(tokens.refresh)).status).toBe(200);
  });

  it('can give a token with fewer scopes, and then no other answer', async () => {
    const { body } = await client.refresh(tokens.refresh, { scope: 'mcp:read' });
    expect(body.scope).toBe('mcp:read');
    expect((await client.refresh(tokens.refresh)).status).toBe(400);
    expect((await client.refresh(tokens.refresh, { scope: 'mcp:read' })).body).toEqual(body);
    expect(await isValid(String(body.access_token))).toBe(true);
  });

  it.each([
    ['mcp:read mcp:write openid offline_access', 'mcp:read mcp:write'],
    ['openid mcp:read profile', 'mcp:read'],
    ['email  mcp:read  ', 'mcp:read'],
    ['offline_access', 'mcp:read mcp:write'],
    ['', 'mcp:read mcp:write'],
    ['MCP:READ', 'mcp:read mcp:write'],
  ])('leaves out scopes that do not exist: "%s"', async (scope, granted) => {
    const { status, body } = await client.refresh(tokens.refresh, { scope });
    expect([status, body.scope]).toEqual([200, granted]);
    expect(await isValid(String(body.access_token))).toBe(true);
  });

  it('gives the same answer to a request that differs only in scopes that do not exist', async () => {
    const { body } = await client.refresh(tokens.refresh, { scope: 'mcp:read openid' });
    expect((await client.refresh(tokens.refresh, { scope: 'mcp:read' })).body).toEqual(body);
  });

  it('is useless to another client, which cannot end the grant either', async () => {
    const thief = await startClient(api);
    expect((await thief.refresh(tokens.refresh)).body.error).toBe('invalid_grant');
    const next = tokensIn(await client.refresh(tokens.refresh));
    expect((await thief.refresh(tokens.refresh)).body.error).toBe('invalid_grant');
    expect(await isValid(next.access)).toBe(true);
  });

  it('ends after 30 days without use, by the clock of the database', async () => {
    await api.database.pool.query("update oauth_tokens set expires_at = now() where model = 'RefreshToken'");
    expect((await client.refresh(tokens.refresh)).body.error).toBe('invalid_grant');
  });

  it('prolongs the grant', async () => {
    const { pool } = api.database;
    await pool.query("update oauth_grants set expires_at = now() + interval '1 hour'");
    await client.refresh(tokens.refresh);
    const { rows } = await pool.query<{ days: number }>(
      'select max(extract(epoch from expires_at - now()))::float8 / 86400 as days from oauth_grants',
    );
    expect(rows[0]?.days).toBeCloseTo(30, 1);
  });
});

describe('a code', () => {
  it('gives the same answer again within a minute', async () => {
    const code = await client.code();
    const [first, second] = [await client.exchange(code), await client.exchange(code)];
    expect(first.status).toBe(200);
    expect(second.text).toBe(first.text);
  });

  it.each(['later', 'with another verifier'])('ends the grant if it is used again %s', async (how) => {
    const code = await client.code();
    const first = tokensIn(await client.exchange(code));
    if (how === 'later') await passRepeatableTime();
    const verifier: Record<string, string> = how === 'later' ? {} : { code_verifier: 'v'.repeat(43) };
    expect((await client.exchange(code, verifier)).body.error).toBe('invalid_grant');
    expect(await isValid(first.access)).toBe(false);
  });

  it('still works after a request with a wrong verifier', async () => {
    const code = await client.code();
    expect((await client.exchange(code, { code_verifier: 'v'.repeat(43) })).body.error).toBe('invalid_grant');
    expect((await client.exchange(code)).status).toBe(200);
  });

  it('ends after a minute', async () => {
    const code = await client.code();
    await api.database.pool.query(
      "update oauth_tokens set expires_at = now() where model = 'AuthorizationCode'",
    );
    expect((await client.exchange(code)).body.error).toBe('invalid_grant');
  });
});

describe('the token endpoint', () => {
  it('stores answers so that no one else can read them', async () => {
    const { body } = await client.refresh(tokens.refresh);
    const { rows } = await api.database.pool.query<{ answer: Buffer }>(
      'select answer from oauth_tokens where answer is not null',
    );
    expect(rows.length).toBeGreaterThan(0);
    for (const { answer } of rows) expect(answer.toString('latin1')).not.toContain(body.access_token);
  });

  it.each([
    ['an unknown grant type', { grant_type: 'password' }, 'unsupported_grant_type'],
    ['no refresh token', { grant_type: 'refresh_token' }, 'invalid_request'],
    [
      'an unknown client',
      { grant_type: 'refresh_token', refresh_token: 'x', client_id: 'nobody' },
      'invalid_client',
    ],
  ])('refuses %s', async (_name, parameters, error) => {
    const answer = await client.token({ client_id: client.clientId, ...parameters });
    expect(answer.body).toMatchObject({ error });
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  it('refuses a body of more than 16 KB', async () => {
    expect((await client.refresh('x'.repeat(20_000))).status).toBe(413);
  });

  it('lets a network try some sixty unknown tokens in a minute, and does not count known ones', async () => {
    const tried = await Promise.all(Array.from({ length: 150 }, (_, n) => client.refresh(`unknown ${n}`)));
    expect(tried.map(({ status }) => status)).toContain(429);
    expect((await client.refresh(tokens.refresh)).status).toBe(200);
  });
});
