// Proves how a program gets access: whom an authorization asks, where it may redirect, and what its tokens are good for.
import { once } from 'node:events';
import http from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readResource } from '../../../src/features/oauth/resources.ts';
import { findGrantCaller } from '../../../src/features/oauth/index.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { startTestApi, TEST_SECRET, type TestApi } from '../../support/api.ts';
import type { Changes } from '../../support/assistant.ts';
import { type OauthClient, REDIRECT_URI, startClient } from '../../support/oauth.ts';

let api: TestApi;
let client: OauthClient;
beforeAll(async () => {
  api = await startTestApi();
  client = await startClient(api);
});
afterAll(() => api.close());

const locationOf = ({ headers }: { headers: Headers }) => headers.get('location') ?? '';
const callerOf = (token: unknown) => findGrantCaller(api.database.pool, String(token), `${api.baseUrl}/mcp`);

describe('a resource', () => {
  const OWN = 'https://mail.example.com/mcp';

  // Issues in which servers compared exactly: vercel/ai#13988, anthropics/claude-code#52871, sigbit/mcp-auth-proxy#123.
  it.each([
    'https://mail.example.com/mcp/',
    'https://mail.example.com/mcp//',
    'HTTPS://Mail.Example.com/mcp',
    'https://MAIL.EXAMPLE.COM/MCP',
    'https://mail.example.com/Mcp/',
    'https://mail.example.com:443/mcp',
  ])('is the same as %s', (given) => expect(readResource(given, OWN)).toBe(OWN));

  it.each([
    'https://mail.example.com/',
    'https://mail.example.com/mcp/x',
    'https://mail.example.com/mcpx',
    'https://mail.example.com/mcp?x=1',
    'https://mail.example.com/mcp#',
    'https://mail.example.com:8443/mcp',
    'http://mail.example.com/mcp',
    'https://user@mail.example.com/mcp',
    'https://mail.example.com.evil.test/mcp',
    'mail.example.com/mcp',
    '',
  ])('is another one than %s', (given) => expect(readResource(given, OWN)).toBe(given));
});

describe('an authorization', () => {
  it('describes the server without openid', async () => {
    const { body } = await api.request('GET', '/.well-known/oauth-authorization-server', { token: null });
    expect(body).toMatchObject({
      issuer: api.baseUrl,
      code_challenge_methods_supported: ['S256'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      client_id_metadata_document_supported: true,
    });
    expect(JSON.stringify(body)).not.toMatch(/openid|jwks|userinfo|introspection/);
  });

  it('gives tokens that act for the user, for the chosen brand and scopes', async () => {
    const begun = await client.authorize({ scope: 'mcp:read mcp:send openid offline_access' });
    expect(begun.status).toBe(303);
    expect(locationOf(begun)).toMatch(/^\/oauth\/interaction\/[\w-]{43}$/);
    const resume = await client.agree(locationOf(begun));
    expect(resume).toContain(`${api.baseUrl}/oauth/authorize/`);
    const done = await client.open(resume);
    const target = new URL(locationOf(done));
    expect(target.origin + target.pathname).toBe(REDIRECT_URI);
    expect(target.searchParams.get('state')).toBe('the state');
    // A client of several servers recognizes the one that answers (RFC 9207).
    expect(target.searchParams.get('iss')).toBe(api.baseUrl);

    const tokens = await client.exchange(target.searchParams.get('code') ?? '');
    expect(tokens.status).toBe(200);
    expect(tokens.body).toMatchObject({ token_type: 'Bearer', expires_in: 3600, scope: 'mcp:read mcp:send' });
    expect(tokens.body).not.toHaveProperty('id_token');
    const caller = await callerOf(tokens.body.access_token);
    expect(caller).toMatchObject({
      userId: api.userId,
      clientId: client.clientId,
      clientName: 'Test client',
      choices: [{ accountId: api.accountId, role: 'owner', brands: [{ id: api.brandId }] }],
      selected: { accountId: api.accountId, brandId: api.brandId },
    });
    expect([...(caller?.scopes ?? [])].toSorted()).toEqual(['mcp:read', 'mcp:send']);
  });

  it('gives no more than the user granted', async () => {
    const tokens = await client.exchange(await client.code('mcp:read mcp:write mcp:send', ['mcp:read']));
    expect(tokens.body.scope).toBe('mcp:read');
  });

  it('is for the same resource if the client spells it in its own way, from its beginning to the renewal', async () => {
    const resource = `${api.baseUrl.toUpperCase()}/mcp/`;
    const resumed = await client.agree(locationOf(await client.authorize({ resource })));
    const code = new URL(locationOf(await client.open(resumed))).searchParams.get('code');
    const { status, body } = await client.exchange(code, { resource });
    expect([status, (await callerOf(body.access_token))?.userId]).toEqual([200, api.userId]);
    const renewed = await client.refresh(String(body.refresh_token), { resource });
    expect([renewed.status, (await callerOf(renewed.body.access_token))?.userId]).toEqual([200, api.userId]);
  });

  it('asks the user each time', async () => {
    await client.code();
    expect(locationOf(await client.authorize())).toContain('/oauth/interaction/');
    const silent = await client.authorize({ prompt: 'none' });
    expect(new URL(locationOf(silent)).searchParams.get('error')).toBe('consent_required');
  });

  it('stores neither codes nor tokens, only digests', async () => {
    const code = await client.code();
    const { body } = await client.exchange(code);
    const { rows } = await api.database.pool.query<{ row: string }>(
      'select t::text as row from oauth_tokens t',
    );
    const stored = rows.map(({ row }) => row).join('\n');
    for (const secret of [code, body.access_token, body.refresh_token]) expect(stored).not.toContain(secret);
  });
});

describe('an authorization that cannot be trusted', () => {
  beforeAll(() => client.code());

  it.each([
    ['an unknown client', { client_id: 'nobody' }],
    ['another redirect URI', { redirect_uri: 'https://evil.test/callback' }],
    ['a longer path of the redirect URI', { redirect_uri: `${REDIRECT_URI}/more` }],
    ['the name of this machine instead of its address', { redirect_uri: 'http://localhost/callback' }],
    ['no redirect URI of a client that has none', { redirect_uri: null, client_id: 'nobody' }],
  ])('shows a page and redirects nowhere: %s', async (_name, parameters) => {
    const answer = await client.authorize(parameters);
    expect(answer.status).toBe(400);
    expect(locationOf(answer)).toBe('');
    expect(answer.headers.get('content-type')).toContain('text/html');
  });

  it.each([
    ['without PKCE', { code_challenge: null, code_challenge_method: null }, 'invalid_request'],
    ['with a plain challenge', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['for a token in the redirect', { response_type: 'token' }, 'unsupported_response_type'],
    ['for another resource', { resource: 'https://elsewhere.test/mcp' }, 'invalid_target'],
  ])(
    'is refused to a client that the user has granted something before, %s',
    async (_name, parameters, error) => {
      const answer = await client.authorize(parameters);
      expect(answer.status).toBe(303);
      const target = new URL(locationOf(answer));
      expect(target.searchParams.get('error') ?? new URLSearchParams(target.hash.slice(1)).get('error')).toBe(
        error,
      );
    },
  );

  it.each([
    ['nobody', null, async () => undefined],
    ['a user who has not granted it anything', undefined, async () => undefined],
    [
      'a user who has taken it back',
      undefined,
      async (stranger: OauthClient) => {
        await stranger.code();
        await api.database.pool.query('update oauth_grants set revoked_at = now() where client_id = $1', [
          stranger.clientId,
        ]);
      },
    ],
  ])(
    'shows a page for a faulty request of a client that is connected by %s',
    async (_by, cookie, prepare) => {
      const stranger = await startClient(api, cookie === null ? { cookie: 'none=none' } : {});
      await prepare(stranger);
      const faults: Changes[] = [{ resource: 'https://elsewhere.test/mcp' }, { response_type: 'token' }];
      for (const fault of faults) {
        const answer = await stranger.authorize(fault);
        expect([fault, answer.status, locationOf(answer)]).toEqual([fault, 400, '']);
        expect(answer.text).toMatch(/the only resource is|unsupported response_type/);
      }
      expect(locationOf(await stranger.authorize())).toContain('/oauth/interaction/');
    },
  );

  it('accepts any port of this machine', async () => {
    const answer = await client.authorize({ redirect_uri: 'http://127.0.0.1:49152/callback' });
    expect(locationOf(answer)).toContain('/oauth/interaction/');
  });

  it('ignores what another browser decides', async () => {
    const begun = await client.authorize();
    const other = await startClient(api);
    await expect(other.agree(locationOf(begun))).rejects.toThrow('no such authorization');
  });

  it('decides once', async () => {
    const begun = await client.authorize();
    await client.agree(locationOf(begun));
    await expect(client.agree(locationOf(begun))).rejects.toMatchObject({ code: 'conflict' });
  });

  it('asks again if the cookie names another user than the decision', async () => {
    const begun = await client.authorize();
    const member = await api.addUser('member');
    const resume = await client.agree(locationOf(begun), { userId: member.userId });
    expect(locationOf(await client.open(resume))).toContain('/oauth/interaction/');
  });

  it('asks again if the session of the user has ended', async () => {
    const leaving = await startClient(api);
    const begun = await leaving.authorize();
    const resume = await leaving.agree(locationOf(begun));
    await api.database.pool.query("delete from sessions where kind = 'cookie'");
    expect(locationOf(await leaving.open(resume))).toContain('/oauth/interaction/');
    client = await startClient(api);
  });

  it('survives a rotation of the secret, but no other secret', async () => {
    const rotated = await startClient(api, {
      keyring: createKeyring('a new secret'.repeat(4), [TEST_SECRET]),
    });
    expect(await rotated.agree(locationOf(await rotated.authorize()))).toContain('/oauth/authorize/');
    const forged = await startClient(api, { keyring: createKeyring('a new secret'.repeat(4)) });
    await expect(forged.agree(locationOf(await forged.authorize()))).rejects.toThrow('no such authorization');
  });

  it('can go on once more after its code was not stored', async () => {
    const { pool } = api.database;
    const begun = await client.authorize();
    const resume = await client.agree(locationOf(begun));
    await pool.query(
      `alter table oauth_tokens add constraint no_codes check (model <> 'AuthorizationCode') not valid`,
    );
    expect((await client.open(resume)).status).toBe(500);
    await pool.query('alter table oauth_tokens drop constraint no_codes');
    expect(locationOf(await client.open(resume))).toContain('code=');
    expect((await client.open(resume)).status).toBe(400);
  });

  it('refuses the character NUL, which the database cannot store', async () => {
    expect((await client.authorize({ state: 'a\0b' })).status).toBe(422);
    const answer = await client.token({ client_id: 'a\0b', grant_type: 'refresh_token', refresh_token: 'x' });
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_request']);
  });
});

describe('the name of the service', () => {
  const statusAt = async (at: TestApi, path: string, host: string) => {
    const request = http.get(at.baseUrl + path, { headers: { Host: host } });
    const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
    answer.resume();
    return answer.statusCode;
  };
  const DISCOVERY = '/.well-known/oauth-authorization-server';

  it('is one of this machine without PUBLIC_URL', async () => {
    expect(await statusAt(api, '/oauth/authorize', 'links.test')).toBe(404);
    expect(await statusAt(api, DISCOVERY, 'links.test')).toBe(404);
    expect(await statusAt(api, DISCOVERY, `localhost:${api.port}`)).toBe(200);
  });

  it('is that of PUBLIC_URL, which only the discovery names elsewhere', async () => {
    const named = await startTestApi({ env: { PUBLIC_URL: 'https://carillon.test' } });
    expect(await statusAt(named, '/oauth/authorize', `127.0.0.1:${named.port}`)).toBe(404);
    // Without parameters, it is a bad request.
    expect(await statusAt(named, '/oauth/authorize', 'carillon.test')).toBe(400);
    const { body } = await named.request('GET', DISCOVERY, { token: null });
    expect(body).toMatchObject({ issuer: 'https://carillon.test' });
    await named.close();
  });
});

describe('a token', () => {
  it('is refused for another resource, after an hour, and once the user is gone', async () => {
    const { body } = await client.exchange(await client.code());
    const token = String(body.access_token);
    expect(await callerOf(token)).not.toBeNull();
    const { pool } = api.database;
    expect(await findGrantCaller(pool, token, 'https://elsewhere.test/mcp')).toBeNull();
    await pool.query("update oauth_tokens set expires_at = now() where model = 'AccessToken'");
    expect(await callerOf(token)).toBeNull();
  });

  it('loses what its user may not use any more, at the next call', async () => {
    const { body } = await client.exchange(await client.code());
    const { pool } = api.database;
    // Another member of the account, whose role must not count.
    await api.addUser('admin');
    const before = [api.userId, api.accountId];
    await pool.query("update memberships set role = 'member' where user_id = $1 and account_id = $2", before);
    expect((await callerOf(body.access_token))?.choices).toMatchObject([{ role: 'member' }]);
    await pool.query('delete from memberships where user_id = $1 and account_id = $2', before);
    expect(await callerOf(body.access_token)).toMatchObject({ choices: [], selected: null });
    await pool.query("insert into memberships (user_id, account_id, role) values ($1, $2, 'owner')", before);
  });

  it('ends with its grant when the client revokes it', async () => {
    const { body } = await client.exchange(await client.code());
    const revoke = (clientId: string) =>
      api.request('POST', '/oauth/revoke', {
        token: null,
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        rawBody: new URLSearchParams({ client_id: clientId, token: String(body.refresh_token) }).toString(),
      });
    const stranger = await startClient(api);
    expect((await revoke(stranger.clientId)).status).toBe(200);
    expect(await callerOf(body.access_token)).not.toBeNull();
    expect((await revoke(client.clientId)).status).toBe(200);
    expect(await callerOf(body.access_token)).toBeNull();
    expect((await client.refresh(String(body.refresh_token))).body.error).toBe('invalid_grant');
  });
});
