// Owners and admins manage the users of their account; no user changes a role above their own, and an owner stays.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Role } from '../../../src/platform/auth/tenant.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';

const PATH = '/v1/my/users';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(() => api.database.pool.query('delete from memberships where user_id <> all ($1)', [owners()]));

const owners = () => [api.userId, api.other.userId];
const setRole = (id: number, role: Role, token = api.userJwt) =>
  api.request('PATCH', `${PATH}/${id}`, { token, body: { role } });
const remove = (id: number, token = api.userJwt) => api.request('DELETE', `${PATH}/${id}`, { token });
const roleOf = async (userId: number): Promise<string | undefined> => {
  const { rows } = await api.database.pool.query<{ role: string }>(
    'select role from memberships where user_id = $1 and account_id = $2',
    [userId, api.accountId],
  );
  return rows[0]?.role;
};

describe('/users', () => {
  it('lists the users of the account only, newest first, to every user but no key', async () => {
    const { userId, userJwt, email } = await api.addUser('member');
    const { list, headers } = await api.request('GET', PATH, { token: userJwt });
    expect(headers.get('x-total-count')).toBe('2');
    expect(list.map(({ id, role }) => [id, role])).toEqual([
      [userId, 'member'],
      [api.userId, 'owner'],
    ]);
    expect(list[0]).toMatchObject({ email, first_name: '', second_factor: false });
    const older = await api.request('GET', `${PATH}?after=${userId}`, { token: userJwt });
    expect(older.list.map(({ id }) => id)).toEqual([api.userId]);
    for (const key of [api.apiKey, api.testApiKey]) {
      expect((await api.request('GET', PATH, { token: key })).status).toBe(403);
    }
  });

  it('shows when a user was last active, and whether there is a second factor', async () => {
    const { userId } = await api.addUser('member');
    const { pool } = api.database;
    await pool.query('delete from sessions where user_id = $1', [userId]);
    const shown = async () => (await api.request('GET', PATH, { token: api.userJwt })).list[0];
    expect(await shown()).toMatchObject({ last_active_at: null, second_factor: false });
    await pool.query(
      `insert into login_networks (user_id, network, logged_in_at) values ($1, '192.0.2.1', '2026-01-02T03:04:05Z')`,
      [userId],
    );
    await pool.query(`insert into second_factors (user_id, secret_sealed) values ($1, 's')`, [userId]);
    expect(await shown()).toMatchObject({ last_active_at: '2026-01-02T03:04:05.000Z', second_factor: false });
    await pool.query('update second_factors set confirmed_at = now() where user_id = $1', [userId]);
    expect(await shown()).toMatchObject({ second_factor: true });
  });

  it('gives a user another role, and accepts its own response', async () => {
    const { userId } = await api.addUser('member');
    const changed = await setRole(userId, 'admin');
    expect([changed.status, changed.body.role]).toEqual([200, 'admin']);
    const again = await api.request('PATCH', `${PATH}/${userId}`, { token: api.userJwt, body: changed.body });
    expect([again.status, again.body]).toEqual([200, changed.body]);
    const unknown = await api.request('PATCH', `${PATH}/${userId}`, {
      token: api.userJwt,
      body: { role: 'boss' },
    });
    expect([unknown.status, Object.keys(unknown.body.validation_errors ?? {})]).toEqual([422, ['role']]);
  });

  it.each<[Role, Role, Role, number]>([
    ['admin', 'member', 'admin', 200],
    ['admin', 'admin', 'member', 200],
    ['admin', 'member', 'owner', 403],
    ['admin', 'owner', 'member', 403],
    ['member', 'member', 'admin', 403],
  ])('lets an %s change a %s to %s: %d', async (own, theirs, role, status) => {
    const caller = await api.addUser(own);
    const { userId } = await api.addUser(theirs);
    const answer = await setRole(userId, role, caller.userJwt);
    expect(answer.status).toBe(status);
    expect(await roleOf(userId)).toBe(status === 200 ? role : theirs);
  });

  it.each<[Role, Role, number]>([
    ['owner', 'owner', 200],
    ['admin', 'admin', 200],
    ['admin', 'owner', 403],
    ['member', 'member', 403],
  ])('lets an %s remove an %s: %d', async (own, theirs, status) => {
    const caller = await api.addUser(own);
    const { userId, userJwt } = await api.addUser(theirs);
    expect((await remove(userId, caller.userJwt)).status).toBe(status);
    expect(await roleOf(userId)).toBe(status === 200 ? undefined : theirs);
    const still = await api.request('GET', PATH, { token: userJwt });
    expect(still.status === 200).toBe(status !== 200);
  });

  it('lets a member leave', async () => {
    const { userId, userJwt } = await api.addUser('member');
    expect((await remove(userId, userJwt)).body).toMatchObject({ id: userId, role: 'member' });
    expect(await roleOf(userId)).toBeUndefined();
  });

  it('keeps the last owner', async () => {
    for (const answer of [await setRole(api.userId, 'admin'), await remove(api.userId)]) {
      expect([answer.status, answer.body.code]).toEqual([409, 'conflict']);
    }
    expect(await roleOf(api.userId)).toBe('owner');
  });

  it('keeps an owner when two owners demote or remove each other at once', async () => {
    for (const act of [(id: number, token: string) => setRole(id, 'member', token), remove]) {
      const one = await api.addUser('owner');
      const two = await api.addUser('owner');
      await api.database.pool.query('delete from memberships where user_id = $1', [api.userId]);
      const answers = await Promise.all([act(one.userId, two.userJwt), act(two.userId, one.userJwt)]);
      const statuses = answers.map(({ status }) => status).sort();
      expect([200, statuses[1]]).toEqual(statuses);
      expect(statuses[1]).toBeGreaterThanOrEqual(401);
      const roles = [await roleOf(one.userId), await roleOf(two.userId)];
      expect(roles.filter((role) => role === 'owner')).toHaveLength(1);
      await api.database.pool.query(
        `insert into memberships (account_id, user_id, role) values ($1, $2, 'owner')`,
        [api.accountId, api.userId],
      );
    }
  });

  it('decides by the role at the time of the change, not of the sign-in', async () => {
    const admin = await api.addUser('admin');
    const { userId } = await api.addUser('member');
    await setRole(admin.userId, 'member');
    expect((await setRole(userId, 'admin', admin.userJwt)).status).toBe(403);
  });

  it('does not find users of other accounts', async () => {
    for (const answer of [await setRole(api.other.userId, 'member'), await remove(api.other.userId)]) {
      expect(answer.status).toBe(404);
    }
  });
});
