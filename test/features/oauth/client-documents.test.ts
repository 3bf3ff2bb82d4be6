// Proves that a client may be described by a document on the web, and that the request for it can do no harm.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { type ClientDocuments, createClientDocuments } from '../../../src/features/oauth/client-documents.ts';
import { createProviders } from '../../../src/features/oauth/providers.ts';
import { createGrant } from '../../../src/features/oauth/index.ts';
import { requestTokens } from '../../../src/features/oauth/token-requests.ts';
import { withOAuthRequest } from '../../../src/features/oauth/oauth-request.ts';
import { createResolver } from '../../../src/platform/dns/resolver.ts';
import { createEgress, type Egress } from '../../../src/platform/egress/client.ts';
import { createRateLimiter } from '../../../src/platform/http/rate-limiter.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { TEST_SECRET } from '../../support/api.ts';
import { createTestDatabase } from '../../support/database.ts';
import { type Answer, type Receiver, startReceiver, testCa } from '../../support/https-receiver.ts';

const ISSUER = 'https://carillon.test';

let receiver: Receiver;
let egress: Egress;
let test: Awaited<ReturnType<typeof createTestDatabase>>;
let documents: ClientDocuments;
let url: string;
let urls = 0;
beforeAll(async () => {
  test = await createTestDatabase();
  receiver = await startReceiver();
  egress = createEgress({
    resolver: createResolver([]),
    allow: ['127.0.0.1/32'],
    userAgent: 'test',
    ca: [testCa],
  });
});
afterAll(async () => {
  await egress.close();
  await receiver.close();
  await test.drop();
});
beforeEach(() => {
  documents = createClientDocuments(
    egress,
    createRateLimiter(() => 1),
  );
  urls += 1;
  url = receiver.url(`/client-${urls}.json`, '127.0.0.1');
  receiver.answer = describe_({});
  receiver.requests.length = 0;
});

/** Answers with a document. */
const describe_ =
  (fields: Record<string, unknown>): Answer =>
  (_request, response) => {
    response.setHeader('Content-Type', 'application/json');
    response.end(
      JSON.stringify({
        client_id: url,
        client_name: 'Described',
        redirect_uris: ['https://example.com/cb'],
        logo_uri: receiver.url('/logo.svg', '127.0.0.1'),
        ...fields,
      }),
    );
  };

const within = <T>(work: () => T, network = '192.0.2.1') =>
  withOAuthRequest({ db: test.database.pool, isBrowser: true, userId: null, network }, async () => work());

describe('the document of a client', () => {
  it('describes a client that needs no registration, and is fetched once', async () => {
    const providers = createProviders({
      keyring: createKeyring(TEST_SECRET),
      documents,
      log: pino({ level: 'silent' }),
    });
    const query = new URLSearchParams({
      client_id: url,
      redirect_uri: 'https://example.com/cb',
      response_type: 'code',
      scope: 'mcp:read',
      code_challenge: 'x'.repeat(43),
      code_challenge_method: 'S256',
    });
    const begin = () =>
      within(() =>
        providers.answer(ISSUER, {
          method: 'GET',
          path: `/oauth/authorize?${query.toString()}`,
          headers: {},
        }),
      );
    for (const answer of [await begin(), await begin()]) {
      expect(answer.status).toBe(303);
      expect(answer.headers.location).toContain('/oauth/interaction/');
      for (const cookie of [answer.headers['set-cookie'] ?? []].flat()) {
        expect(cookie).toMatch(/; samesite=lax; secure; httponly/i);
      }
    }
    // Neither the document again, nor the logo.
    expect(receiver.requests.map(({ url: path }) => path)).toEqual([new URL(url).pathname]);
  });

  it('is not needed to renew tokens', async () => {
    const { pool } = test.database;
    const { id: userId } = (
      await pool.query<{ id: number }>(
        "insert into users (email, email_key, password_hash) values ('a@b.test', 'a@b.test', '') returning id",
      )
    ).rows[0] as { id: number };
    const { key } = await createGrant(pool, {
      userId,
      client: { id: url, name: 'Described', host: '127.0.0.1', redirectHost: 'example.com' },
      resource: `${ISSUER}/mcp`,
      scopes: ['mcp:read'],
      choices: [],
    });
    const providers = createProviders({
      keyring: createKeyring(TEST_SECRET),
      documents,
      log: pino({ level: 'silent' }),
    });
    const oauthRequest = { db: pool, isBrowser: false, userId: null, network: '192.0.2.1' };
    const scope = { scope: 'mcp:read', resource: `${ISSUER}/mcp`, gty: 'authorization_code' };
    const token = await withOAuthRequest(oauthRequest, () =>
      new (providers.of(ISSUER).RefreshToken)({
        ...scope,
        clientId: url,
        accountId: String(userId),
        grantId: key,
      } as never).save(),
    );
    const renew = (clientId: string) => {
      const body = new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: token,
        client_id: clientId,
      }).toString();
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const request = { method: 'POST', path: '/oauth/token', headers, body } as const;
      return requestTokens(
        { pool, providers, rateLimiter: createRateLimiter(() => 1) },
        ISSUER,
        request,
        oauthRequest,
      );
    };
    expect((await renew('https://127.0.0.1/other.json')).body.toString()).toContain('"invalid_client"');
    expect((await renew(url)).status).toBe(200);
    expect(receiver.requests).toEqual([]);
  });

  it.each([
    ['it names another client', { client_id: 'https://example.com/client.json' }],
    ['the client has a secret', { client_secret: 'x' }],
    ['the client has keys', { token_endpoint_auth_method: 'private_key_jwt' }],
    ['it names other documents', { sector_identifier_uri: 'https://example.com/' }],
    ['it names keys elsewhere', { jwks_uri: 'https://example.com/' }],
    ['a redirect URI is a script', { redirect_uris: ['javascript:alert(1)'] }],
    ['it has more than 5 KB', { padding: 'x'.repeat(5_200) }],
  ])('is refused if %s', async (_name, fields) => {
    receiver.answer = describe_(fields);
    await expect(within(() => documents.fetch(url))).rejects.toThrow();
    expect(receiver.requests).toHaveLength(1);
  });

  it('is not looked for where a redirect leads', async () => {
    receiver.answer = (_request, response) => {
      response.writeHead(302, { Location: receiver.url('/other.json', '127.0.0.1') }).end();
    };
    await expect(within(() => documents.fetch(url))).rejects.toThrow('status 302');
    expect(receiver.requests).toHaveLength(1);
  });

  it.each([
    'http://example.com/client.json',
    'https://example.com/',
    'https://user@example.com/client.json',
    'https://example.com/../client.json',
    'https://EXAMPLE.com/client.json',
    `https://example.com/${'x'.repeat(500)}`,
    'com.example:/client',
  ])('is not at %s', async (id) => expect(await within(() => documents.mayFetch(id))).toBe(false));

  it.each([
    'https://127.0.0.1:5432/client.json',
    'https://93.184.215.14:8443/c.json',
    'https://10.0.0.1/c.json',
  ])('is not requested from another port or a private address: %s', async (id) => {
    const strict = createEgress({ resolver: createResolver([]), allow: [], userAgent: 'test' });
    const guarded = createClientDocuments(
      strict,
      createRateLimiter(() => 1),
    );
    await expect(within(() => guarded.fetch(id))).rejects.toThrow(/no document: (?:port|private|address)/);
    await strict.close();
  });

  it('is not requested again within a minute of a failure', async () => {
    receiver.answer = (_request, response) => void response.writeHead(404).end();
    expect(await within(() => documents.mayFetch(url))).toBe(true);
    await expect(within(() => documents.fetch(url))).rejects.toThrow('status 404');
    expect(await within(() => documents.mayFetch(url))).toBe(false);
  });

  it('is requested ten times a minute for one network, and once for each if others have used up the rest', async () => {
    const asked = async (network: string) => {
      let count = 0;
      for (let n = 0; n < 12; n += 1) {
        await within(() => documents.mayFetch(url), network).then(
          () => (count += 1),
          (error: unknown) => expect(error).toMatchObject({ code: 'rate_limited' }),
        );
      }
      return count;
    };
    expect(await asked('192.0.2.1')).toBe(10);
    let all = 10;
    for (let n = 2; n < 9; n += 1) all += await asked(`192.0.2.${n}`);
    expect(all).toBe(60 + 8);
    expect(await asked('198.51.100.1')).toBe(1);
  });
});
