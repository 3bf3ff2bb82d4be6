// The MCP endpoint knows its callers by access tokens alone, serves both eras, and keeps a log of its calls.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { insertGrant, type TestGrant } from '../../support/grants.ts';

let api: TestApi;
let grant: TestGrant;
beforeAll(async () => {
  api = await startTestApi();
  grant = await insertGrant(api.database.pool, {
    baseUrl: api.baseUrl,
    userId: api.userId,
    choices: [{ accountId: api.accountId, brandId: api.brandId }],
  });
});
afterAll(() => api.close());

it('answers a call of a tool', async () => {
  const answer = await api.request('POST', '/mcp', {
    token: grant.accessToken,
    headers: { Accept: 'application/json, text/event-stream' },
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'whoami', arguments: {} } },
  });
  expect(answer.status).toBe(200);
  expect(answer.text).toContain('owner@acme.test');
});
