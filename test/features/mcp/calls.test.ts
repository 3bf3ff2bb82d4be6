// Calls act as the user who granted them, on what the user ticked and may use now; owners can read what was called.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createBrand } from '../../../src/features/brands/service.ts';
import { mcpUpkeep } from '../../../src/features/mcp/upkeep.ts';
import type { GrantSelection } from '../../../src/platform/auth/grant-caller.ts';
import { startTestApi, type TestApi, type TestBody } from '../../support/api.ts';
import { insertGrant } from '../../support/grants.ts';
import { runTask } from '../../support/housekeeping.ts';

let api: TestApi;
let secondBrandId: number;
beforeAll(async () => {
  api = await startTestApi();
  secondBrandId = await createBrand(api.database.pool, { accountId: api.accountId, companyName: 'Second' });
});
afterAll(() => api.close());

const both = (): GrantSelection[] => [
  { accountId: api.accountId, brandId: api.brandId },
  { accountId: api.accountId, brandId: secondBrandId },
];

async function tokenOf(options: Partial<Parameters<typeof insertGrant>[1]> = {}): Promise<string> {
  const { baseUrl, userId } = api;
  const grant = { baseUrl, userId, choices: both(), ...options };
  return (await insertGrant(api.database.pool, grant)).accessToken;
}

/** Calls a tool as clients of the earlier protocol do. */
async function call(
  token: string,
  name: string,
  args: object = {},
): Promise<TestBody & { isError?: boolean }> {
  const answer = await api.request('POST', '/mcp', {
    token,
    headers: { Accept: 'application/json, text/event-stream' },
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
  });
  const data = /^data: (.*)$/m.exec(answer.text)?.[1] ?? answer.text;
  const { result, error } = JSON.parse(data) as { result?: TestBody; error?: TestBody };
  return (result?.structuredContent ?? error) as TestBody;
}

async function lastCall(): Promise<TestBody> {
  const { list } = await api.request('GET', '/v1/my/mcp_calls?limit=1', { token: api.userJwt });
  return list[0] as TestBody;
}

describe('the selection', () => {
  it('is shown with all that the user ticked, and nothing else', async () => {
    const shown = await call(await tokenOf({ scopes: ['mcp:read'] }), 'whoami');
    expect(shown).toEqual({
      user: { id: api.userId, email: api.email },
      scopes: ['mcp:read'],
      selected: null,
      accounts: [
        {
          id: api.accountId,
          name: 'Acme',
          role: 'owner',
          brands: [
            { id: api.brandId, name: 'Acme' },
            { id: secondBrandId, name: 'Second' },
          ],
        },
      ],
    });
  });

  it('is kept for later calls', async () => {
    const token = await tokenOf();
    const selected = {
      account: { id: api.accountId, name: 'Acme', role: 'owner' },
      brand: { id: secondBrandId, name: 'Second' },
    };
    expect(await call(token, 'select_brand', { brand_id: secondBrandId })).toEqual({ selected });
    expect((await call(token, 'whoami')).selected).toEqual(selected);
    expect((await call(token, 'list_contacts')).brand?.id).toBe(secondBrandId);
    expect((await call(token, 'list_contacts', { brand_id: api.brandId })).brand?.id).toBe(api.brandId);
  });

  it('has a brand after an account if the account has only one', async () => {
    const account = { account_id: api.accountId };
    expect((await call(await tokenOf(), 'select_account', account)).selected?.brand).toBe(null);
    const only = await tokenOf({ choices: both().slice(1) });
    expect((await call(only, 'select_account', account)).selected?.brand?.id).toBe(secondBrandId);
  });

  it.each([
    ['select_account', { account_id: 0 }, 'validation_error', 'account_id'],
    ['select_brand', {}, 'validation_error', 'brand_id'],
    ['select_brand', { brand_id: 1, brand: 2 }, 'validation_error', 'brand'],
    ['whoami', { user: 1 }, 'validation_error', 'user'],
  ])('refuses %s with %j, and names the field', async (tool, args, code, field) => {
    const refusal = await call(await tokenOf(), tool, args);
    expect(refusal.code).toBe(code);
    expect(Object.keys(refusal.validation_errors ?? {})).toEqual([field]);
  });

  it('never leaves what the user ticked, not even for what the user may use', async () => {
    const token = await tokenOf({ choices: both().slice(1) });
    for (const brandId of [api.brandId, api.other.brandId]) {
      expect((await call(token, 'select_brand', { brand_id: brandId })).code).toBe('not_found');
      expect((await call(token, 'list_contacts', { brand_id: brandId })).code).toBe('not_found');
    }
    expect((await call(token, 'select_account', { account_id: api.other.accountId })).code).toBe('not_found');
  });
});

describe('a call', () => {
  it('acts as the user, also in the audit log', async () => {
    const token = await tokenOf({ choices: both().slice(0, 1) });
    const created = await call(token, 'create_list', { name: 'By an assistant', idempotency_key: 'one' });
    expect(created).toMatchObject({ result: { name: 'By an assistant' } });
    const { list } = await api.request('GET', '/v1/my/audit?action=createList', { token: api.userJwt });
    expect(list[0]).toMatchObject({
      actor_kind: 'user',
      actor_id: api.userId,
      actor_name: api.email,
      status: 201,
    });
    expect(await lastCall()).toMatchObject({
      tool: 'create_list',
      operation: 'createList',
      brand_id: api.brandId,
      resource_id: String(created.result?.id),
      outcome: 'ok',
      client_name: 'Test assistant',
      user_email: api.email,
      request_id: list[0]?.request_id,
    });
  });

  it('has the role that the user has now', async () => {
    const member = await api.addUser('member');
    const token = await tokenOf({ userId: member.userId, choices: both().slice(0, 1) });
    const role = async () => (await call(token, 'whoami')).accounts?.[0]?.role;
    expect(await role()).toBe('member');
    await api.database.pool.query(`update memberships set role = 'admin' where user_id = $1`, [
      member.userId,
    ]);
    expect(await role()).toBe('admin');
    await api.database.pool.query('delete from memberships where user_id = $1', [member.userId]);
    expect((await call(token, 'whoami')).accounts).toEqual([]);
    expect((await call(token, 'list_contacts')).code).toBe('forbidden');
  });
});

describe('the log', () => {
  it('has refusals and names of tools, but no texts of the client', async () => {
    const token = await tokenOf({ choices: both().slice(0, 1) });
    await call(token, 'get_campaign', { id: 'a secret text of the client' });
    expect(await lastCall()).toMatchObject({ tool: 'get_campaign', resource_id: null, outcome: 'not_found' });
    await call(token, 'another secret text');
    expect(await lastCall()).toMatchObject({ tool: 'unknown', operation: null, outcome: 'not_found' });
    const { text } = await api.request('GET', '/v1/my/mcp_calls', { token: api.userJwt });
    expect(text).not.toContain('secret text');
  });

  it('is for owners, and of their own account', async () => {
    for (const role of ['admin', 'member'] as const) {
      const { userJwt } = await api.addUser(role);
      expect((await api.request('GET', '/v1/my/mcp_calls', { token: userJwt })).status).toBe(403);
    }
    expect((await api.request('GET', '/v1/my/mcp_calls')).status).toBe(403);
    expect((await api.request('GET', '/v1/my/mcp_calls', { token: api.other.userJwt })).list).toEqual([]);
  });

  it('is filtered and paged', async () => {
    const token = await tokenOf();
    for (let n = 0; n < 3; n += 1) await call(token, 'select_brand', { brand_id: secondBrandId });
    const path = '/v1/my/mcp_calls?tool=select_brand&outcome=ok';
    const first = await api.request('GET', `${path}&limit=2`, { token: api.userJwt });
    expect(first.list.map(({ brand_id: id }) => id)).toEqual([secondBrandId, secondBrandId]);
    const next = await api.request('GET', `${path}&limit=2&after=${String(first.list[1]?.id)}`, {
      token: api.userJwt,
    });
    expect(Number(next.list[0]?.id)).toBeLessThan(Number(first.list[1]?.id));
    const refused = await api.request('GET', '/v1/my/mcp_calls?user_id=x', { token: api.userJwt });
    expect(refused.body.validation_errors).toHaveProperty('user_id');
  });

  it('ends after 90 days', async () => {
    const task = mcpUpkeep.tasks?.find(({ name }) => name === 'mcp_calls');
    if (!task) throw new Error('the log has no upkeep');
    const count = async () =>
      (await api.request('GET', '/v1/my/mcp_calls', { token: api.userJwt })).list.length;
    const days = (number: number) => new Date(Date.now() + number * 86_400_000);
    await runTask(api.database, task, days(89));
    expect(await count()).toBeGreaterThan(0);
    await runTask(api.database, task, days(91));
    expect(await count()).toBe(0);
  });
});
