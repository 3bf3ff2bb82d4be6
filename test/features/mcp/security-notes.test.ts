// The security notes of the MCP specification, one by one: each attack that they describe fails.
import tls from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi, type TestResponse } from '../../support/api.ts';
import {
  type Assistant,
  type Changes,
  callTool,
  createAssistant,
  register,
} from '../../support/assistant.ts';
import { startDnsServer, type TestDnsServer } from '../../support/dns/server.ts';
import { createHeadlessUser, UnexpectedPage, type HeadlessUser } from '../../support/headless-user.ts';
import { startReceiver, testCa, type Receiver } from '../../support/https-receiver.ts';

let api: TestApi;
let user: HeadlessUser;
let assistant: Assistant;

const codeIn = (answer: URL) => answer.searchParams.get('code');
const newUser = (email = api.email) => createHeadlessUser({ origin: api.baseUrl, email });

/** Asks the user and gets tokens. */
async function authorize(by = assistant, asked = user): Promise<TestResponse> {
  return by.exchange(codeIn(await asked.authorize(by.authorizationUrl())));
}

/** The page that a browser gets instead of being sent to a client. */
async function problemAt(url: URL): Promise<Response> {
  const response = await newUser().request(url);
  expect(response.headers.get('location')).toBeNull();
  return response;
}

beforeAll(async () => {
  api = await startTestApi();
  user = newUser();
  assistant = await createAssistant(api);
});
afterAll(() => api.close());

describe('token passthrough', () => {
  it.each(['apiKey', 'testApiKey', 'userJwt'] as const)(
    'does not accept an %s at the endpoint',
    async (kind) => {
      const answer = await callTool(api, api[kind], 'whoami');
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toMatch(
        /^Bearer error="invalid_token", resource_metadata="/,
      );
    },
  );

  it('does not accept an access token on other routes', async () => {
    const { access_token: token } = (await authorize()).body;
    expect((await callTool(api, String(token), 'whoami')).status).toBe(200);
    for (const path of ['/v1/my/contacts', '/v1/my/api_keys', '/v1/my/mcp_grants']) {
      expect([path, (await api.request('GET', path, { token: String(token) })).status]).toEqual([path, 401]);
    }
  });

  it('does not accept a token in the query or in a cookie', async () => {
    const { access_token: token } = (await authorize()).body;
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const inQuery = await api.request('POST', `/mcp?access_token=${String(token)}`, { token: null, body });
    const inCookie = await api.request('POST', '/mcp', {
      token: null,
      headers: { Cookie: `access_token=${String(token)}` },
      body,
    });
    expect([inQuery.status, inCookie.status]).toEqual([401, 401]);
  });

  it('does not accept a token that was issued for another resource', async () => {
    const { access_token: token } = (await authorize()).body;
    await api.database.pool.query(`update oauth_grants set resource = 'https://other.test/mcp'`);
    const answer = await callTool(api, String(token), 'whoami');
    await api.database.pool.query('update oauth_grants set resource = $1', [`${api.baseUrl}/mcp`]);
    expect(answer.status).toBe(401);
  });

  it.each(['https://other.test/mcp', '/mcp'])('issues no token for the resource "%s"', async (resource) => {
    const absolute = resource === '/mcp' ? api.baseUrl : resource;
    const problem = await problemAt(assistant.authorizationUrl({ resource: absolute }));
    expect([problem.status, await problem.text()]).toEqual([
      400,
      expect.stringContaining('the only resource is'),
    ]);
  });
});

describe('confused deputy', () => {
  it('asks for consent in each authorization, also of a client that has consent', async () => {
    const browser = newUser();
    await browser.authorize(assistant.authorizationUrl());
    const pages = browser.shown.length;
    await browser.authorize(assistant.authorizationUrl());
    expect(browser.shown.length).toBeGreaterThan(pages);
  });

  it('cannot be made to skip the question', async () => {
    const browser = newUser();
    await browser.authorize(assistant.authorizationUrl());
    const answer = await browser.request(assistant.authorizationUrl({ prompt: 'none' }));
    const target = new URL(answer.headers.get('location') ?? '');
    expect(target.searchParams.get('code')).toBeNull();
    expect(target.searchParams.get('error')).toMatch(/^(consent|interaction|login)_required$/);
  });

  it('names the client as unverified, and where the code will be sent', async () => {
    const posing = await createAssistant(api, {
      name: 'Carillon <b>support</b>',
      redirectUri: 'https://attacker.test/callback',
    });
    const browser = newUser();
    await browser.authorize(posing.authorizationUrl());
    expect(browser.consent).toContain('Carillon <b>support</b>');
    expect(browser.consent).toContain('unverified');
    expect(browser.consent).toContain('attacker.test');
  });

  it('sends no code if the user denies', async () => {
    const browser = createHeadlessUser({ origin: api.baseUrl, email: api.email, denies: true });
    const answer = await browser.authorize(assistant.authorizationUrl());
    expect(Object.fromEntries(answer.searchParams)).toMatchObject({
      error: 'access_denied',
      state: 'the state',
      iss: api.baseUrl,
    });
    expect(answer.searchParams.get('code')).toBeNull();
  });

  it('does not let another website show or send the page', async () => {
    const browser = newUser();
    const begun = await browser.request(assistant.authorizationUrl());
    const page = new URL(begun.headers.get('location') ?? '', api.baseUrl);
    const shown = await browser.request(page);
    expect(shown.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    const foreign = await fetch(`${page.href}/deny`, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        Origin: 'https://attacker.test',
        Cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      },
      body: new URLSearchParams(),
    });
    expect(foreign.status).toBe(403);
  });
});

describe('session hijacking', () => {
  it('has no sessions to steal: a session id is neither issued nor believed', async () => {
    const { access_token: token } = (await authorize()).body;
    const called = await callTool(api, String(token), 'whoami');
    expect(called.headers.get('mcp-session-id')).toBeNull();
    const stolen = await callTool(api, null, 'whoami', {}, { 'Mcp-Session-Id': 'guessed' });
    expect(stolen.status).toBe(401);
  });

  it('does not let another browser decide an authorization', async () => {
    const victim = newUser();
    const attacker = newUser(api.other.email);
    const begun = await attacker.request(assistant.authorizationUrl());
    const page = new URL(begun.headers.get('location') ?? '', api.baseUrl);
    // An authorization of their own does not help, either.
    await victim.request(assistant.authorizationUrl());
    await expect(victim.authorize(page)).rejects.toThrow(UnexpectedPage);
  });

  it('gives each user only their own accounts', async () => {
    const { access_token: token } = (await authorize(assistant, newUser(api.other.email))).body;
    const { body } = await callTool(api, String(token), 'whoami');
    expect(JSON.stringify(body)).toContain(api.other.email);
    expect(JSON.stringify(body)).not.toContain(api.email);
  });
});

describe('scopes', () => {
  it('are asked for one after the other: the first is for reading, however the client learns of it', async () => {
    const metadata = await api.request('GET', '/.well-known/oauth-protected-resource/mcp', { token: null });
    const challenge = await callTool(api, null, 'whoami');
    expect(metadata.body.scopes_supported).toEqual(['mcp:read']);
    expect(challenge.headers.get('www-authenticate')).toMatch(/ scope="mcp:read"$/);
  });

  it('cannot be widened by a refresh', async () => {
    const { refresh_token: token } = (await authorize()).body;
    const answer = await assistant.refresh(String(token), { scope: 'mcp:read mcp:send' });
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_scope']);
  });
});

describe('redirects', () => {
  let client: Assistant;

  beforeAll(async () => {
    client = await createAssistant(api, { redirectUri: 'https://client.test/callback' });
  });

  it.each([
    ['another path', 'https://client.test/callback/evil'],
    ['a path that leads up', 'https://client.test/callback/../evil'],
    ['another host', 'https://attacker.test/callback'],
    ['the host as a subdomain', 'https://client.test.attacker.test/callback'],
    ['the host as a user name', 'https://client.test@attacker.test/callback'],
    ['another port', 'https://client.test:8443/callback'],
    ['plain HTTP', 'http://client.test/callback'],
    ['a query', 'https://client.test/callback?next=evil'],
    ['a fragment', 'https://client.test/callback#evil'],
    ['another case', 'https://client.test/Callback'],
    ['a script', 'javascript:alert(1)'],
  ])('never leads to %s', async (_what, uri) => {
    const problem = await problemAt(client.authorizationUrl({ redirect_uri: uri }));
    expect(problem.status).toBe(400);
    expect(problem.headers.get('content-type')).toContain('text/html');
  });

  it('leads to a client with an error only by the wish of a user who has granted it something', async () => {
    const faulty = client.authorizationUrl({ code_challenge_method: 'plain' });
    expect((await problemAt(faulty)).status).toBe(400);
    const browser = newUser();
    await browser.authorize(client.authorizationUrl());
    const answer = await browser.request(faulty);
    expect(answer.headers.get('location')).toMatch(
      /^https:\/\/client\.test\/callback\?error=invalid_request&/,
    );
  });

  it('never leads anywhere for an unknown client', async () => {
    const problem = await problemAt(assistant.authorizationUrl({ client_id: 'unknown' }));
    expect(problem.status).toBe(400);
  });

  it('leads to any port of this machine, for programs that take a free one', async () => {
    const answer = await newUser().authorize(
      assistant.authorizationUrl({ redirect_uri: 'http://127.0.0.1:40404/callback' }),
    );
    expect(answer.origin).toBe('http://127.0.0.1:40404');
  });

  it('does not answer the code to a request that names another redirect', async () => {
    const answer = await newUser().authorize(assistant.authorizationUrl());
    const tokens = await assistant.exchange(codeIn(answer), {
      redirect_uri: 'http://127.0.0.1:51235/callback',
    });
    expect([tokens.status, tokens.body.error]).toEqual([400, 'invalid_grant']);
  });

  it.each([
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'http://client.test/callback',
    'https://user@client.test/',
  ])('are not registered to %s', async (uri) => {
    const answer = await register(api, { redirect_uris: [uri] });
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_redirect_uri']);
  });
});

describe('mix-up and stolen codes', () => {
  it('names itself in each answer, as its metadata promises', async () => {
    const browser = newUser();
    const answer = await browser.authorize(assistant.authorizationUrl());
    const failed = await browser.request(assistant.authorizationUrl({ resource: 'https://other.test/mcp' }));
    const { body } = await api.request('GET', '/.well-known/oauth-authorization-server', { token: null });
    expect(body.authorization_response_iss_parameter_supported).toBe(true);
    expect(body.issuer).toBe(api.baseUrl);
    expect(answer.searchParams.get('iss')).toBe(api.baseUrl);
    expect(new URL(failed.headers.get('location') ?? '').searchParams.get('iss')).toBe(api.baseUrl);
  });

  it('requires a challenge, and the method S256', async () => {
    const attempts: Changes[] = [
      { code_challenge: null, code_challenge_method: null },
      { code_challenge_method: 'plain' },
    ];
    for (const changes of attempts) {
      expect((await problemAt(assistant.authorizationUrl(changes))).status).toBe(400);
    }
  });

  it('gives nothing for a code without its verifier', async () => {
    const answer = await newUser().authorize(assistant.authorizationUrl());
    for (const verifier of [null, 'a'.repeat(43)]) {
      const tokens = await assistant.exchange(codeIn(answer), { code_verifier: verifier });
      expect([tokens.status, tokens.body.error]).toEqual([400, 'invalid_grant']);
    }
    expect((await assistant.exchange(codeIn(answer))).status).toBe(200);
  });

  it('gives nothing to another client for a code or a refresh token', async () => {
    const thief = await createAssistant(api);
    const answer = await newUser().authorize(assistant.authorizationUrl());
    expect((await assistant.exchange(codeIn(answer), { client_id: thief.clientId })).status).toBe(400);
    const { body } = await assistant.exchange(codeIn(answer));
    expect((await thief.refresh(String(body.refresh_token))).status).toBe(400);
    expect((await callTool(api, String(body.access_token), 'whoami')).status).toBe(200);
  });
});

describe('documents of clients', () => {
  let guarded: TestApi;
  let dns: TestDnsServer;
  let website: Receiver;
  const trusted = tls.getCACertificates('default');

  beforeAll(async () => {
    website = await startReceiver({
      answer: (_request, response) =>
        void response.writeHead(302, { Location: website.url('/secret') }).end(),
    });
    dns = await startDnsServer({
      'inside.receiver.test': { A: ['127.0.0.1'] },
      'rebound.receiver.test': { A: ['93.184.216.34', '10.0.0.1'] },
      'redirects.receiver.test': { A: ['127.0.0.1'] },
    });
    tls.setDefaultCACertificates([...trusted, testCa]);
    guarded = await startTestApi({ env: { DNS_SERVERS: dns.address } });
  });
  afterAll(async () => {
    tls.setDefaultCACertificates(trusted);
    await guarded.close();
    await website.close();
    dns.close();
  });

  async function problemWith(at: TestApi, clientId: string): Promise<number> {
    const client = await createAssistant(at, { clientId });
    const response = await fetch(client.authorizationUrl(), { redirect: 'manual' });
    expect(response.headers.get('location')).toBeNull();
    return response.status;
  }

  it.each([
    ['a name of this machine', 'https://inside.receiver.test/client.json'],
    ['a name of this machine with a port', 'https://inside.receiver.test:8443/client.json'],
    ['a name with a private address', 'https://rebound.receiver.test/client.json'],
    ['this machine', 'https://127.0.0.1/client.json'],
    ['the metadata of the cloud', 'https://169.254.169.254/latest/meta-data'],
    ['a private network of IPv6', 'https://[fd00::1]/client.json'],
    ['plain HTTP', 'http://inside.receiver.test/client.json'],
  ])('are not requested from %s', async (_what, clientId) => {
    expect(await problemWith(guarded, clientId)).toBe(400);
  });

  it('are not requested from other ports of the internet', async () => {
    dns.zone['inside.receiver.test'] = { A: ['127.0.0.1'] };
    expect(await problemWith(guarded, website.url('/client.json', 'inside.receiver.test'))).toBe(400);
    expect(website.connections).toBe(0);
  });

  it('are not looked for behind a redirect', async () => {
    const open = await startTestApi({ env: { DNS_SERVERS: dns.address, EGRESS_ALLOW: '127.0.0.0/8' } });
    try {
      expect(await problemWith(open, website.url('/client.json', 'redirects.receiver.test'))).toBe(400);
      expect(website.requests.map(({ url }) => url)).toEqual(['/client.json']);
    } finally {
      await open.close();
    }
  });
});
