// The MCP endpoint knows its callers by access tokens alone, shows clients where to sign in, and keeps its limits.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { request as httpRequest } from 'node:http';
import type { McpScope } from '../../../src/platform/auth/grant-caller.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { revokeGrant } from '../../../src/features/oauth/index.ts';
import { startTestApi, type TestApi, type TestRequest } from '../../support/api.ts';
import { insertGrant } from '../../support/grants.ts';

let api: TestApi;
let accessToken: string;
beforeAll(async () => {
  api = await startTestApi();
  accessToken = await tokenOf();
});
afterAll(() => api.close());

function grantOf(options: Partial<Parameters<typeof insertGrant>[1]> = {}) {
  const { accountId, brandId, userId, baseUrl } = api;
  const choices = [{ accountId, brandId }];
  return insertGrant(api.database.pool, { baseUrl, userId, choices, ...options });
}

const tokenOf = async (options?: Parameters<typeof grantOf>[0]) => (await grantOf(options)).accessToken;

const ACCEPT = 'application/json, text/event-stream';
const message = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params });
const whoami = message('tools/call', { name: 'whoami', arguments: {} });

const post = (body: unknown, { headers, ...options }: TestRequest = {}) =>
  api.request('POST', '/mcp', {
    token: accessToken,
    body,
    headers: { Accept: ACCEPT, ...headers },
    ...options,
  });

const challenge = (scope: string, error?: string) =>
  `Bearer ${error === undefined ? '' : `error="${error}", `}` +
  `resource_metadata="${api.baseUrl}/.well-known/oauth-protected-resource/mcp", scope="${scope}"`;

describe('with a slash at the end', () => {
  it('is the same endpoint', async () => {
    const answer = await api.request('POST', '/mcp/', {
      token: accessToken,
      body: whoami,
      headers: { Accept: ACCEPT },
    });
    expect(answer.status).toBe(200);
    const refused = await api.request('POST', '/mcp/', { token: null });
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, challenge('mcp:read')]);
    const wrong = await api.request('PUT', '/mcp/', { token: accessToken });
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, expect.stringContaining('POST')]);
  });

  it('is no other path of the API', async () => {
    expect((await api.request('GET', '/v1/my/contacts/')).status).toBe(404);
  });
});

describe('without a token', () => {
  it.each(['GET', 'POST'])('%s is a 401 that names the metadata and the first scope', async (method) => {
    const answer = await api.request(method, '/mcp', { token: null });
    expect([answer.status, answer.body.code]).toEqual([401, 'unauthorized']);
    expect(answer.headers.get('www-authenticate')).toBe(challenge('mcp:read'));
  });

  it.each([
    '/.well-known/oauth-protected-resource/mcp/',
    '/.well-known/oauth-protected-resource/mcp',
    '/.well-known/oauth-protected-resource',
  ])('%s names the endpoint and who signs users in', async (path) => {
    const answer = await api.request('GET', path, { token: null });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      resource: `${api.baseUrl}/mcp`,
      resource_name: 'Carillon',
      authorization_servers: [api.baseUrl],
      scopes_supported: ['mcp:read'],
      bearer_methods_supported: ['header'],
    });
  });
});

describe('a token', () => {
  const refusals: [string, () => string | Promise<string>][] = [
    ['an API key', () => api.apiKey],
    ['a test key', () => api.testApiKey],
    ['a session token', () => api.userJwt],
    ['nonsense', () => 'nonsense'],
    ['an expired token', () => tokenOf({ secondsLeft: -1 })],
    ['a token for another resource', () => tokenOf({ baseUrl: 'https://other.example' })],
  ];

  it.each(refusals)('is refused if it is %s', async (_name, given) => {
    const answer = await post(whoami, { token: await given() });
    expect([answer.status, answer.body.code]).toEqual([401, 'unauthorized']);
    expect(answer.headers.get('www-authenticate')).toBe(challenge('mcp:read', 'invalid_token'));
  });

  it('is refused at once when its grant is revoked', async () => {
    const { accessToken: token, grantId } = await grantOf();
    expect((await post(whoami, { token })).status).toBe(200);
    await inTransaction(api.database.pool, (trx) => revokeGrant(trx, grantId));
    expect((await post(whoami, { token })).status).toBe(401);
  });

  it('is refused on every other route', async () => {
    const answer = await api.request('GET', '/v1/my/account', { token: accessToken });
    expect(answer.status).toBe(401);
  });

  it('makes GET a 405 that allows POST', async () => {
    const answer = await api.request('GET', '/mcp', { token: accessToken });
    expect([answer.status, answer.body.code]).toEqual([405, 'method_not_allowed']);
    expect(answer.headers.get('allow')).toBe('POST');
  });
});

/** A request with any Host, which fetch does not send. */
function statusAt(
  port: number,
  host: string,
  headers: Record<string, string>,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      { host: '127.0.0.1', port, path: '/mcp', method: 'POST', headers: { host, ...headers } },
      (answer) => {
        let text = '';
        answer.on('data', (piece: Buffer) => (text += piece.toString()));
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
      },
    );
    sent.on('error', reject);
    sent.end();
  });
}

describe('with PUBLIC_URL', () => {
  const PUBLIC_URL = 'https://carillon.test';
  let behindProxy: TestApi;
  beforeAll(async () => {
    behindProxy = await startTestApi({ env: { PUBLIC_URL } });
  });
  afterAll(() => behindProxy.close());

  it('names it at every Host, so that checks of the process itself work', async () => {
    const answer = await behindProxy.request('GET', '/mcp', { token: null });
    expect(answer.status).toBe(401);
    const metadata = `${PUBLIC_URL}/.well-known/oauth-protected-resource/mcp`;
    expect(answer.headers.get('www-authenticate')).toContain(`resource_metadata="${metadata}"`);
    const { body } = await behindProxy.request('GET', new URL(metadata).pathname, { token: null });
    expect(body.resource).toBe(`${PUBLIC_URL}/mcp`);
  });

  it('accepts tokens at its own Host only', async () => {
    const { accountId, brandId, userId, port } = behindProxy;
    const choices = [{ accountId, brandId }];
    const grant = { baseUrl: PUBLIC_URL, userId, choices };
    const { accessToken: token } = await insertGrant(behindProxy.database.pool, grant);
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/plain' };
    expect((await statusAt(port, `127.0.0.1:${port}`, headers)).status).toBe(403);
    expect((await statusAt(port, 'carillon.test', headers)).status).toBe(400);
  });
});

describe('another website', () => {
  it('gets nothing by a name that leads here', async () => {
    const { status, text } = await statusAt(api.port, 'rebound.example', {
      authorization: `Bearer ${accessToken}`,
    });
    expect(status).toBe(404);
    expect(text).toContain('PUBLIC_URL');
  });

  it('gets nothing by a script of its pages', async () => {
    const answer = await post(whoami, { headers: { Origin: 'https://evil.example' } });
    expect([answer.status, answer.body.code]).toEqual([403, 'forbidden']);
    expect((await post(whoami, { headers: { Origin: api.baseUrl } })).status).toBe(200);
  });

  it('is refused before the body is read', async () => {
    const answer = await post(undefined, {
      rawBody: 'not json',
      headers: { Origin: 'https://evil.example' },
    });
    expect(answer.status).toBe(403);
  });
});

describe('a body', () => {
  it.each([
    ['that is not JSON', 400, 'malformed_json', { rawBody: '{' }],
    ['of several messages', 422, 'validation_error', { body: [whoami, whoami] }],
    ['of another version of JSON-RPC', 422, 'validation_error', { body: { ...whoami, jsonrpc: '1.0' } }],
    [
      'of another type',
      415,
      'unsupported_media_type',
      { rawBody: '{}', headers: { 'Content-Type': 'text/plain' } },
    ],
    ['of more than a megabyte', 413, 'payload_too_large', { rawBody: `"${'x'.repeat(1024 * 1024)}"` }],
  ])(
    '%s is refused',
    async (_name, status, code, { headers, ...options }: TestRequest & { headers?: object }) => {
      const type = { 'Content-Type': 'application/json', ...headers };
      const answer = await post(undefined, { ...options, headers: type });
      expect([answer.status, answer.body.code]).toEqual([status, code]);
    },
  );
});

describe('the answer', () => {
  const initialize = message('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  });
  const answerTo = async (accept: string | null, body: object = initialize) => {
    const answer = await api.request('POST', '/mcp', {
      token: await tokenOf(),
      body,
      // `fetch` adds `*/*` unless it gets a value.
      headers: { Accept: accept ?? '' },
    });
    const [contentType = ''] = (answer.headers.get('content-type') ?? '').split(';');
    return { status: answer.status, contentType, text: answer.text };
  };

  // Issues in which other servers refused these clients: modelcontextprotocol/typescript-sdk#1944, python-sdk#2349.
  it.each([
    ['none', null],
    ['anything', '*/*'],
    ['anything, as Java writes it', 'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2'],
    ['JSON', 'application/json'],
    ['JSON with parameters', 'application/json; charset=utf-8;q=0.9'],
    ['JSON in capitals', 'Application/JSON'],
    ['applications', 'application/*'],
    ['JSON before text', 'application/json, text/plain, */*'],
    ['JSON without streams', 'application/json, text/event-stream;q=0'],
  ])('is JSON for clients that accept %s', async (_name, accept) => {
    const { status, contentType, text } = await answerTo(accept);
    expect({ status, contentType }).toEqual({ status: 200, contentType: 'application/json' });
    expect(JSON.parse(text)).toMatchObject({ id: 1, result: { serverInfo: { name: 'carillon' } } });
    const called = await answerTo(accept, whoami);
    expect(JSON.parse(called.text)).toMatchObject({ id: 1, result: { content: [{ type: 'text' }] } });
  });

  it.each([
    ['both', ACCEPT],
    ['streams alone', 'text/event-stream'],
    ['streams and anything', '*/*, text/event-stream'],
  ])('is an event for clients that accept %s', async (_name, accept) => {
    const { status, contentType, text } = await answerTo(accept);
    expect({ status, contentType }).toEqual({ status: 200, contentType: 'text/event-stream' });
    expect(text).toMatch(/^event: message\ndata: \{.*\}\n\n$/);
  });

  it('is a 406 for clients that accept neither', async () => {
    for (const accept of ['text/html', 'application/json;q=0, */*']) {
      expect([accept, (await answerTo(accept)).status]).toEqual([accept, 406]);
    }
  });
});

it('allows a grant 10 calls a second, and 20 at once', async () => {
  const token = await tokenOf();
  // So many that they are too fast on a slow machine, too.
  const answers = await Promise.all(Array.from({ length: 200 }, () => post(message('ping'), { token })));
  const limited = answers.filter(({ status }) => status === 429);
  expect(limited.length).toBeGreaterThanOrEqual(1);
  expect(answers.length - limited.length).toBeGreaterThanOrEqual(20);
  expect((await post(message('ping'))).status).toBe(200);
});

it('refuses subscriptions, which would outlive their token', async () => {
  const answer = await post(message('subscriptions/listen', { notifications: { toolsListChanged: true } }));
  expect(answer.status).toBe(404);
  expect(answer.body.error?.code).toBe(-32601);
});

describe('a scope that is missing', () => {
  const listContacts = message('tools/call', { name: 'list_contacts', arguments: {} });

  it('is a 403 that names all scopes to ask for', async () => {
    const scopes: McpScope[] = ['mcp:write'];
    const answer = await post(listContacts, { token: await tokenOf({ scopes }) });
    expect([answer.status, answer.body.code]).toEqual([403, 'forbidden']);
    expect(answer.headers.get('www-authenticate')).toBe(
      challenge('mcp:write mcp:read', 'insufficient_scope'),
    );
  });

  it('counts for the token, even if the grant has it', async () => {
    const answer = await post(listContacts, { token: await tokenOf({ tokenScopes: ['mcp:write'] }) });
    expect(answer.status).toBe(403);
  });

  it('is in the log', async () => {
    const token = await tokenOf({ scopes: ['mcp:write'], clientName: 'Curious' });
    await post(listContacts, { token });
    const { list } = await api.request('GET', '/v1/my/mcp_calls', { token: api.userJwt });
    expect(list[0]).toMatchObject({
      client_name: 'Curious',
      tool: 'list_contacts',
      outcome: 'insufficient_scope',
      user_email: api.email,
    });
  });
});
