// Logging out ends the session of its token, or all sessions of the user, and nothing else.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, TEST_PASSWORD, type TestApi } from '../../support/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

const logOut = (token: string | null, body?: unknown) =>
  api.request('POST', '/v1/logout', { token, ...(body === undefined ? {} : { body }) });
const statusOf = async (token: string) => (await api.request('GET', '/v1/my/account', { token })).status;

async function logIn(email: string): Promise<string> {
  const body = { user: { email, password: TEST_PASSWORD } };
  const answer = await api.request('POST', '/v1/login', { token: null, body });
  return String(answer.headers.get('authorization')).replace('Bearer ', '');
}

describe('POST /v1/logout', () => {
  it('ends the session of its token, and no other', async () => {
    const { email, userId } = await api.addUser('member');
    const [one, two] = [await logIn(email), await logIn(email)];
    expect([await statusOf(one), await statusOf(two)]).toEqual([200, 200]);
    const { status, body } = await logOut(one);
    expect([status, body.id, body.email]).toEqual([200, userId, email]);
    expect([await statusOf(one), await statusOf(two), await statusOf(api.userJwt)]).toEqual([401, 200, 200]);
    expect((await logOut(one)).status).toBe(401);
    expect(await statusOf(await logIn(email))).toBe(200);
  });

  it('ends all sessions of the user if asked', async () => {
    const { email } = await api.addUser('member');
    const [one, two] = [await logIn(email), await logIn(email)];
    expect((await logOut(one, { all: true })).status).toBe(200);
    expect([await statusOf(one), await statusOf(two), await statusOf(api.userJwt)]).toEqual([401, 401, 200]);
    expect(await statusOf(await logIn(email))).toBe(200);
  });

  it("forgets the user's known networks if it ends all sessions", async () => {
    const { email, userId } = await api.addUser('member');
    const [one, two] = [await logIn(email), await logIn(email)];
    const networks = async () =>
      (await api.database.pool.query('select 1 from login_networks where user_id = $1', [userId])).rowCount;
    expect((await logOut(one)).status).toBe(200);
    expect(await networks()).toBe(1);
    expect((await logOut(two, { all: true })).status).toBe(200);
    expect(await networks()).toBe(0);
  });

  it('is 403 for an API key, 401 without credentials, and 422 for unknown fields', async () => {
    const answers = [
      await logOut(api.apiKey),
      await logOut(null),
      await logOut(api.userJwt, { every: true }),
    ];
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
      [403, 'forbidden'],
      [401, 'unauthorized'],
      [422, 'validation_error'],
    ]);
    expect([await statusOf(api.apiKey), await statusOf(api.userJwt)]).toEqual([200, 200]);
  });
});
