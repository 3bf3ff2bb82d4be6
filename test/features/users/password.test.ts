// A signed-in user changes the password by giving the old one, and all other sessions and links of the user end.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createReset } from '../../../src/features/users/reset-links.ts';
import { getReset, resetPassword } from '../../../src/features/users/resets.ts';
import { hashPassword } from '../../../src/features/users/service.ts';
import { startTestApi, TEST_PASSWORD, type TestApi } from '../../support/api.ts';

const NEW = 'another long password';

let api: TestApi;
let user: { userId: number; email: string; userJwt: string };
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  user = await api.addUser('member');
});

const change = (current: string, password = NEW, token = user.userJwt) =>
  api.request('PUT', '/v1/my/user/password', { token, body: { current_password: current, password } });
const logIn = (password: string) =>
  api.request('POST', '/v1/login', { token: null, body: { user: { email: user.email, password } } });
const profile = (token: string) => api.request('GET', '/v1/my/user', { token });

describe('PUT /user/password', () => {
  it('replaces the password', async () => {
    const { status, body, text } = await change(TEST_PASSWORD);
    expect([status, body.id]).toEqual([200, user.userId]);
    expect(text).not.toContain('password');
    expect((await logIn(NEW)).status).toBe(200);
    expect((await logIn(TEST_PASSWORD)).status).toBe(401);
  });

  it('ends all sessions of the user but the current one, and no one else’s', async () => {
    const other = (await logIn(TEST_PASSWORD)).headers.get('authorization')?.slice(7) ?? '';
    expect((await profile(other)).status).toBe(200);
    await change(TEST_PASSWORD);
    expect((await profile(other)).status).toBe(401);
    expect((await profile(user.userJwt)).status).toBe(200);
    expect((await profile(api.userJwt)).status).toBe(200);
  });

  it('makes a mailed link useless', async () => {
    const token = await createReset(api.database.pool, user.userId);
    await change(TEST_PASSWORD);
    await expect(getReset(api.database.pool, token)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('refuses a wrong current password, and limits the tries', async () => {
    const wrong = await change('not the password');
    expect([wrong.status, Object.keys(wrong.body.validation_errors ?? {})]).toEqual([
      422,
      ['current_password'],
    ]);
    expect((await logIn(TEST_PASSWORD)).status).toBe(200);
    const tries = await Promise.all(Array.from({ length: 12 }, () => change('not the password')));
    expect(tries.filter(({ status }) => status === 422)).toHaveLength(9);
    expect((await change(TEST_PASSWORD)).status).toBe(429);
  });

  it.each(['seven77', 'x'.repeat(1_025)])('refuses a new password of a wrong length', async (password) => {
    const { status, body } = await change(TEST_PASSWORD, password);
    expect([status, Object.keys(body.validation_errors ?? {})]).toEqual([422, ['password']]);
  });

  it('does not undo a reset at the same time', async () => {
    const token = await createReset(api.database.pool, user.userId);
    const [changed, reset] = await Promise.allSettled([
      change(TEST_PASSWORD),
      resetPassword({ pool: api.database.pool, hashPassword }, token, 'the password of the reset'),
    ]);
    const isChanged = changed.status === 'fulfilled' && changed.value.status === 200;
    expect([isChanged, reset.status === 'fulfilled'].filter(Boolean)).toHaveLength(1);
    expect((await logIn(isChanged ? NEW : 'the password of the reset')).status).toBe(200);
  });

  it('is not for API keys', async () => {
    expect((await change(TEST_PASSWORD, NEW, api.apiKey)).status).toBe(403);
  });
});
