// Proves which programs may register, where their codes may be sent, and how long they are remembered.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cleanMetadata } from '../../../src/features/oauth/client-metadata.ts';
import { readRedirectUri } from '../../../src/features/oauth/redirect-uris.ts';
import { oauthUpkeep } from '../../../src/features/oauth/upkeep.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { runTask } from '../../support/housekeeping.ts';
import { REDIRECT_URI, register, startClient } from '../../support/oauth.ts';

const DAY_MS = 86_400_000;
const taskOf = (name: string) => {
  const task = oauthUpkeep.tasks?.find((each) => each.name === name);
  if (!task) throw new Error(`no task ${name}`);
  return task;
};

describe('a redirect URI', () => {
  it.each([
    ['https://claude.ai/api/mcp/auth_callback', 'claude.ai'],
    ['https://example.com:8443/cb?x=1', 'example.com:8443'],
    ['http://127.0.0.1/callback', '127.0.0.1'],
    ['http://localhost:33418/', 'localhost:33418'],
    ['http://[::1]:5000/cb', '[::1]:5000'],
    ['com.example.app:/oauth', 'com.example.app:'],
    ['cursor://anysphere.cursor-mcp/oauth/callback', 'cursor:'],
  ])('may be %s', (uri, host) => expect(readRedirectUri(uri)?.host).toBe(host));

  it.each([
    'javascript:alert(1)//example.com',
    'data:text/html,x',
    'file:///etc/passwd',
    'blob:https://example.com/x',
    'mailto:a@example.com',
    'http://example.com/cb',
    'http://127.0.0.1.evil.test/cb',
    'http://127.0.0.1@evil.test/cb',
    'https://user@example.com/cb',
    'https://localhost/cb',
    'https://example.com/cb#fragment',
    'https://example.com/cb#',
    'https://example.com\\@evil.test/cb',
    'https://example.com/a b',
    '//example.com/cb',
    'myapp://callback',
    '',
    `https://example.com/${'x'.repeat(2_000)}`,
  ])('may not be %s', (uri) => expect(readRedirectUri(uri)).toBeNull());
});

describe('the redirect URIs of a client', () => {
  const kept = (redirect_uris: string[]) => cleanMetadata({ redirect_uris }).redirect_uris;

  // What these programs register, with the schemes of forks that are not known here.
  it.each([
    [
      'Cursor',
      [
        'http://localhost:8787/callback',
        'cursor://anysphere.cursor-mcp/oauth/callback',
        'cursor-fork://oauth',
      ],
      2,
    ],
    [
      'Visual Studio Code',
      [
        'https://vscode.dev/redirect',
        'http://127.0.0.1/',
        'http://127.0.0.1:33418/',
        'code-oss://vscode.auth',
      ],
      3,
    ],
    ['LibreChat', ['myapp://callback', 'https://chat.example.com/api/mcp/oauth/callback'], 1],
    ['Goose', ['goose://oauth', 'http://localhost:8020/'], 1],
    ['an app', ['x:y', 'com.example.app:/oauth', 'app:', 'https://example.com/cb'], 2],
  ])('are those of %s that are known', (_name, uris, count) => {
    const known = uris.filter((uri) => readRedirectUri(uri));
    expect(kept(uris)).toEqual(known);
    expect(known).toHaveLength(count);
  });

  it.each([
    ['only an unknown scheme', ['myapp://callback']],
    ['a page of others', ['myapp://callback', 'https://example.com/', 'http://example.com/']],
    ['a fragment', ['https://example.com/', 'myapp://callback#x']],
    ['a script', ['https://example.com/', 'javascript:alert(1)']],
    ['a file', ['https://example.com/', 'file:///etc/passwd']],
    ['no URI', ['https://example.com/', 'callback']],
  ])('are refused with %s', (_name, uris) =>
    expect(() => kept(uris)).toThrow(/only https, http to this machine/),
  );
});

describe('a client', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startTestApi();
  });
  afterAll(() => api.close());

  it('becomes a public one, whatever it asks for', async () => {
    const { status, body } = await register(api, {
      client_name: '  A\u202Eb\nc  ',
      redirect_uris: [REDIRECT_URI, 'myapp://callback'],
      token_endpoint_auth_method: 'client_secret_post',
      grant_types: ['authorization_code', 'implicit', 'client_credentials'],
      scope: 'openid profile mcp:read',
      logo_uri: 'https://example.com/logo.svg',
      jwks: { keys: [] },
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      client_name: 'A b c',
      redirect_uris: [REDIRECT_URI],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    });
    for (const field of ['client_secret', 'logo_uri', 'jwks', 'scope', 'registration_access_token']) {
      expect(body).not.toHaveProperty(field);
    }
  });

  it.each([
    ['no redirect URIs', { redirect_uris: undefined }, 'invalid_redirect_uri'],
    ['an empty list of them', { redirect_uris: [] }, 'invalid_redirect_uri'],
    [
      'a script among them',
      { redirect_uris: ['https://example.com/', 'javascript:alert(1)'] },
      'invalid_redirect_uri',
    ],
    [
      'a document of other sites',
      { sector_identifier_uri: 'https://169.254.169.254/' },
      'invalid_client_metadata',
    ],
    ['a document of keys', { jwks_uri: 'https://169.254.169.254/' }, 'invalid_client_metadata'],
  ])('is refused with %s', async (_name, metadata, error) => {
    const answer = await register(api, metadata);
    expect([answer.status, answer.body.error]).toEqual([400, error]);
  });

  it('is refused if its description is not JSON', async () => {
    const answer = await api.request('POST', '/oauth/register', { token: null, rawBody: '{' });
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_client_metadata']);
  });

  it('ends after a day in which no user granted it anything', async () => {
    const { pool } = api.database;
    const client = await startClient(api);
    const unused = await startClient(api);
    await client.code();
    await pool.query("update oauth_clients set created_at = now() - interval '25 hours'");
    expect((await unused.authorize()).status).toBe(400);
    expect((await client.authorize()).status).toBe(303);
    await runTask(api.database, taskOf('oauth_clients'), new Date());
    const { rows } = await pool.query<{ id: string }>('select id from oauth_clients');
    expect(rows.map(({ id }) => id)).toEqual([client.clientId]);
    // While it has grants, it stays.
    await runTask(api.database, taskOf('oauth_clients'), new Date(Date.now() + 91 * DAY_MS));
    expect((await pool.query('select 1 from oauth_clients')).rowCount).toBe(1);
    await runTask(api.database, taskOf('oauth_grants'), new Date(Date.now() + 121 * DAY_MS));
    await runTask(api.database, taskOf('oauth_clients'), new Date(Date.now() + 121 * DAY_MS));
    expect((await pool.query('select 1 from oauth_clients')).rowCount).toBe(0);
  });

  it('leaves nothing of an authorization that no user has decided in time, but a code for a day', async () => {
    const { pool } = api.database;
    await pool.query(
      `insert into oauth_tokens (model, id_digest, payload, expires_at)
       select model, 'ended', '{}', now() - interval '1 second' from unnest($1::text[]) model`,
      [['Interaction', 'AuthorizationCode']],
    );
    const left = async () => {
      const { rows } = await pool.query<{ model: string }>(
        "select model from oauth_tokens where id_digest = 'ended'",
      );
      return rows.map(({ model }) => model);
    };
    await runTask(api.database, taskOf('oauth_tokens'), new Date());
    expect(await left()).toEqual(['AuthorizationCode']);
    await runTask(api.database, taskOf('oauth_tokens'), new Date(Date.now() + DAY_MS));
    expect(await left()).toEqual([]);
  });

  it('takes the place of the oldest unused one of its network, and may not register ten times in a minute', async () => {
    const { pool } = api.database;
    await pool.query(
      `insert into oauth_clients (id, metadata, network, created_at, last_used_at)
       select 'client ' || n, '{}', '127.0.0.1', now() - make_interval(mins => 400 - n),
         case when n = 1 then now() end
       from generate_series(1, 301) n`,
    );
    expect((await register(api)).status).toBe(201);
    const { rows } = await pool.query<{ id: string }>(
      "select id from oauth_clients where id in ('client 1', 'client 2', 'client 3') order by id",
    );
    expect(rows.map(({ id }) => id)).toEqual(['client 1', 'client 3']);
    await pool.query("delete from oauth_clients where id like 'client %'");
    const statuses = await Promise.all(Array.from({ length: 11 }, async () => (await register(api)).status));
    expect(statuses).toContain(429);
  });

  it('takes the place of one of the network that has most, if all networks together have too many', async () => {
    const full = await startTestApi({ env: { TRUSTED_PROXIES: '127.0.0.0/8' } });
    const { pool } = full.database;
    try {
      await pool.query(
        `insert into oauth_clients (id, metadata, network, created_at)
         select 'client ' || n, '{}', case when n > 9990 then 'of others' else '198.51.100.' || n % 40 end,
           now() - make_interval(secs => case when n > 9990 then 40000 else 20000 - n end)
         from generate_series(1, 10000) n`,
      );
      await pool.query(
        "insert into oauth_clients (id, metadata, network) values ('one more', '{}', '198.51.100.7')",
      );
      const registered = await full.request('POST', '/oauth/register', {
        token: null,
        headers: { 'X-Forwarded-For': '203.0.113.9' },
        body: { redirect_uris: ['http://127.0.0.1/callback'] },
      });
      expect(registered.status).toBe(201);
      const { rows } = await pool.query(
        `select count(*) filter (where network = 'of others')::int as others,
           bool_or(id = 'client 7') as oldest, bool_or(id = 'one more') as newest from oauth_clients`,
      );
      expect(rows).toEqual([{ others: 10, oldest: false, newest: true }]);
    } finally {
      await full.close();
    }
  });

  it('is counted with all others of an IPv6 /48, which one customer may have', async () => {
    const proxied = await startTestApi({ env: { TRUSTED_PROXIES: '127.0.0.0/8' } });
    const registerFrom = async (address: string) => {
      const { status } = await proxied.request('POST', '/oauth/register', {
        token: null,
        headers: { 'X-Forwarded-For': address },
        body: { redirect_uris: ['http://127.0.0.1/callback'] },
      });
      return status;
    };
    try {
      const statuses = await Promise.all(
        Array.from({ length: 30 }, (_, n) => registerFrom(`2001:db8:1:${n}::1`)),
      );
      expect(statuses).toContain(429);
      expect(await registerFrom('2001:db8:2::1')).toBe(201);
    } finally {
      await proxied.close();
    }
  });
});
