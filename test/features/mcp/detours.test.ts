// An assistant does not get around its scopes, confirmations and brands.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createBrand } from '../../../src/features/brands/service.ts';
import { mcpScopes } from '../../../src/platform/auth/grant-caller.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { createToolCalls, type CallOptions, type ToolCalls, type Values } from '../../support/tool-calls.ts';

const WRITE: CallOptions = { scopes: ['mcp:read', 'mcp:write'] };

let api: TestApi;
let calls: ToolCalls;

beforeAll(async () => {
  api = await startTestApi();
  calls = createToolCalls(api);
});
afterAll(() => api.close());

const change = (operation: string, args: Values, options?: CallOptions) =>
  calls.call(api, 'change_operation', { operation, arguments: args }, options);

describe('the settings of an account', () => {
  const replyTo = async () => (await api.request('GET', '/v1/my/account')).body.email_reply_to;

  it('do not lead replies elsewhere without mcp:send and the user’s agreement', async () => {
    const changes = { email_reply_to: 'thief@evil.example' };
    const args = { operation: 'patch_account', arguments: changes };
    expect((await calls.send(api, 'change_operation', args, WRITE)).status).toBe(403);
    expect(await change('patch_account', changes)).toMatchObject({ code: 'confirmation_required' });
    expect(await replyTo()).toBeNull();
  });

  it('are not changed by an assistant that may use only some of the brands', async () => {
    expect(await change('patch_account', { name: 'Before' }, WRITE)).toMatchObject({ isError: false });
    const second = await createBrand(api.database.pool, { accountId: api.accountId, companyName: 'Second' });
    expect(await change('patch_account', { name: 'After' }, WRITE)).toMatchObject({ code: 'forbidden' });
    const all = { ...WRITE, brandIds: [api.brandId, second] };
    expect(await change('patch_account', { name: 'All', brand_id: second }, all)).toMatchObject({
      isError: false,
    });
  });
});

it('does not use brands of an account that was allowed when it had none', async () => {
  const token = await calls.tokenFor(api, { brandIds: [null], scopes: mcpScopes });
  for (const [operation, args] of [
    ['put_brand', { company_name: 'Forged' }],
    ['scrape_brand', { url: 'https://evil.example' }],
  ] as const) {
    expect([operation, await change(operation, args, { token })]).toEqual([
      operation,
      expect.objectContaining({ isError: true, code: 'forbidden' }),
    ]);
  }
  const stats = await calls.call(api, 'get_stats', { group_by: 'brand' }, { token });
  expect(stats).toMatchObject({ isError: true, code: 'forbidden' });
});
