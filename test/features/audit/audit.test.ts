// Every change by a user is in the audit log of their account, and so are grave changes by API keys and by operators.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { auditUpkeep } from '../../../src/features/audit/upkeep.ts';
import { defineRoute } from '../../../src/platform/http/route.ts';
import type { HousekeepingTask } from '../../../src/platform/housekeeping/task.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { carillonCommand } from '../../support/commands.ts';
import { runTask } from '../../support/housekeeping.ts';

const responses = { 200: { description: 'Nothing', schema: null } };
const probe = {
  method: 'PUT',
  tag: 'Probe',
  summary: 'Probe',
  auth: 'account',
  testKeys: 'refused',
  responses,
} as const;

describe('the audit log', () => {
  let api: TestApi;
  /** What the log has while the handler runs. */
  let duringHandler: unknown;

  beforeAll(async () => {
    const extraRoutes = [
      defineRoute({
        ...probe,
        path: '/v1/my/probe/look',
        operationId: 'probeLook',
        async handler() {
          const { rows } = await api.database.pool.query('select action, status from audit_entries');
          duringHandler = rows;
          return { status: 200, body: {} };
        },
      }),
      defineRoute({
        ...probe,
        path: '/v1/my/probe/fail',
        operationId: 'probeFail',
        handler() {
          throw new Error('broken');
        },
      }),
    ];
    api = await startTestApi({ extraRoutes });
  });
  afterAll(() => api.close());
  beforeEach(() => api.database.pool.query('delete from audit_entries'));

  const asOwner = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    api.request(method, path, { token: api.userJwt, body, ...(headers ? { headers } : {}) });
  const entries = async (query = '') => (await asOwner('GET', `/v1/my/audit${query}`)).list;
  const actions = async (query = '') =>
    (await entries(query)).map(({ action, status }) => `${String(action)} ${String(status)}`);

  it('is for owners and admins only', async () => {
    const { userJwt: token } = await api.addUser('member');
    expect((await api.request('GET', '/v1/my/audit')).status).toBe(403);
    expect((await api.request('GET', '/v1/my/audit', { token })).status).toBe(403);
  });

  it('has who changed what, from where', async () => {
    const made = await asOwner('POST', '/v1/my/lists', { name: 'VIP' }, { 'X-Request-Id': 'request-1' });
    await asOwner('PATCH', `/v1/my/lists/${String(made.body.id)}`, { name: 'Secret name' });
    const found = await entries();
    expect(found.map(({ action }) => action)).toEqual(['updateList', 'createList']);
    expect(found[1]).toEqual({
      id: expect.any(Number),
      created_at: expect.any(String),
      actor_kind: 'user',
      actor_id: api.userId,
      actor_name: api.email,
      action: 'createList',
      brand_id: api.brandId,
      resource_id: String(made.body.id),
      status: 201,
      ip: '127.0.0.1',
      request_id: 'request-1',
    });
    expect(found[0]?.resource_id).toBe(String(made.body.id));
    expect(JSON.stringify(found)).not.toContain('Secret name');
  });

  it('has an entry before the change is made', async () => {
    await asOwner('PUT', '/v1/my/probe/look');
    expect(duringHandler).toEqual([{ action: 'probeLook', status: null }]);
    expect(await actions()).toEqual(['probeLook 200']);
  });

  it('keeps the entry of a request that failed', async () => {
    expect((await asOwner('PUT', '/v1/my/probe/fail')).status).toBe(500);
    expect(await actions()).toEqual(['probeFail 500']);
  });

  it('has no requests that changed nothing: invalid, unknown, repeated, and those that only read', async () => {
    const headers = { 'Idempotency-Key': 'one list' };
    expect((await asOwner('POST', '/v1/my/lists', {})).status).toBe(422);
    expect((await asOwner('DELETE', '/v1/my/lists/999999')).status).toBe(404);
    await asOwner('POST', '/v1/my/lists', { name: 'Once' }, headers);
    await asOwner('POST', '/v1/my/lists', { name: 'Once' }, headers);
    await asOwner('POST', '/v1/my/segments/preview', {
      filters: [{ name: 'email', predicate: 'eq', value: 'a@b.test' }],
    });
    expect(await actions()).toEqual(['createList 201']);
  });

  it('has what was forbidden, once a minute', async () => {
    const { userJwt: token, userId } = await api.addUser('member');
    for (let n = 0; n < 3; n += 1) await api.request('POST', '/v1/my/api_keys', { token, body: {} });
    expect(await actions()).toEqual(['createApiKey 403']);
    expect(await entries(`?actor_id=${userId}`)).toHaveLength(1);
  });

  it('has what was forbidden with a name that cannot be stored', async () => {
    const { userJwt: token } = await api.addUser('member');
    const { status } = await api.request('DELETE', '/v1/my/webhooks/%00', { token });
    expect([status, await actions()]).toEqual([403, ['deleteWebhook 403']]);
  });

  it('has who joined the account by an invitation, new or known', async () => {
    const invite = async (email: string) => (await asOwner('POST', '/v1/my/invitations', { email })).body;
    const { id, link } = await invite('new@joined.test');
    const invitation = String(link).split('/').at(-1);
    const password = 'a long password';
    await api.request('POST', `/v1/invitations/${String(invitation)}/accept`, {
      token: null,
      body: { password },
    });
    await api.database.pool.query('delete from memberships where user_id = (select max(id) from users)');
    const again = await invite('new@joined.test');
    const user = { email: 'new@joined.test', password };
    const login = await api.request('POST', '/v1/login', { token: null, body: { user } });
    const token = login.headers.get('authorization')?.slice(7) ?? '';
    await api.request('POST', `/v1/my/user/invitations/${String(again.id)}/accept`, { token });
    const joined = { actor_kind: 'user', actor_name: 'new@joined.test' };
    expect((await entries()).filter(({ action }) => String(action).startsWith('accept'))).toMatchObject([
      { ...joined, action: 'acceptOwnInvitation', resource_id: String(again.id), status: 200 },
      { ...joined, action: 'acceptInvitation', resource_id: String(id), status: 201 },
    ]);
  });

  it('has grave changes by API keys, and nothing else of them', async () => {
    const list = await api.request('POST', '/v1/my/lists', { body: { name: 'By key' } });
    await api.request('POST', '/v1/my/contacts', { body: { email: 'ada@example.com' } });
    await api.request('DELETE', `/v1/my/lists/${String(list.body.id)}`);
    expect(await entries()).toMatchObject([
      {
        action: 'deleteList',
        actor_kind: 'api_key',
        actor_id: api.apiKeyId,
        actor_name: expect.stringMatching(/^crl_live_/),
        resource_id: String(list.body.id),
        status: 200,
      },
    ]);
  });

  it('has changes to a user in each of the user’s accounts, and in no other', async () => {
    await api.database.pool.query(
      `insert into memberships (account_id, user_id, role) values ($1, $2, 'member')`,
      [api.other.accountId, api.userId],
    );
    await asOwner('PATCH', '/v1/my/user', { first_name: 'Olivia' });
    const { rows } = await api.database.pool.query(
      'select account_id, action, status from audit_entries order by account_id',
    );
    expect(rows).toEqual(
      [api.accountId, api.other.accountId].map((account_id) => ({
        account_id,
        action: 'changeUser',
        status: 200,
      })),
    );
    await api.database.pool.query('delete from memberships where account_id = $1 and user_id = $2', [
      api.other.accountId,
      api.userId,
    ]);
  });

  it('has changes of users and keys by operators', async () => {
    const env = { DATABASE_URL: api.config.DATABASE_URL ?? '', CARILLON_OPERATOR: 'ben' };
    const run = async (...args: string[]) => {
      const { code, output } = await carillonCommand(args, env);
      expect([code, output]).toEqual([0, expect.any(String)]);
    };
    const account = String(api.accountId);
    await run('user', 'add', '--account', account, '--email', 'new@acme.test', '--role', 'admin');
    await run('user', 'set', 'new@acme.test', '--first-name', 'New');
    await run('api-key', 'create', '--account', account);
    await run('api-key', 'revoke', String(api.apiKeyId));
    const found = await entries('?actor_kind=operator');
    expect(found.map(({ action }) => action)).toEqual([
      'api-key revoke',
      'api-key create',
      'user set',
      'user add',
    ]);
    expect(found[0]).toMatchObject({ actor_name: 'ben', resource_id: String(api.apiKeyId), status: null });
  });

  it('filters by action and time', async () => {
    await asOwner('POST', '/v1/my/lists', { name: 'One' });
    await asOwner('PUT', '/v1/my/brand', { industry: 'bells' });
    expect(await actions('?action=putBrand')).toEqual(['putBrand 200']);
    expect(await actions('?created_after=2100-01-01T00:00:00Z')).toEqual([]);
    expect(await actions('?created_before=2100-01-01T00:00:00Z')).toHaveLength(2);
  });

  it('is kept for 400 days', async () => {
    await api.database.pool.query(
      `insert into audit_entries (account_id, actor_kind, action, created_at)
       select $1, 'system', 'old', now() - days * interval '1 day' from unnest('{399, 401}'::int[]) days`,
      [api.accountId],
    );
    const task = auditUpkeep.tasks?.[0] as HousekeepingTask;
    expect(await runTask(api.database, task, new Date())).toBe(1);
    expect(await actions()).toEqual(['old null']);
  });
});
