import type { IncomingMessage } from 'node:http';
import pino from 'pino';
import { createOauthServer, type OauthServer } from '../../src/features/oauth/routes.ts';
import { createGrant } from '../../src/features/oauth/index.ts';
import { createFindCookieSession } from '../../src/platform/auth/cookie-session.ts';
import type { McpScope } from '../../src/platform/auth/grant-caller.ts';
import { createOwnOrigin } from '../../src/platform/auth/own-origin.ts';
import { createSessionCookies } from '../../src/platform/auth/session-cookie.ts';
import { inTransaction } from '../../src/platform/db/queryable.ts';
import { createEgress } from '../../src/platform/egress/client.ts';
import { createResolver } from '../../src/platform/dns/resolver.ts';
import { createRateLimiter } from '../../src/platform/http/rate-limiter.ts';
import { createKeyring, type Keyring } from '../../src/platform/secrets/keyring.ts';
import { TEST_SECRET, type TestApi, type TestResponse } from './api.ts';
import { type Assistant, type Changes, createAssistant } from './assistant.ts';

export { REDIRECT_URI, register } from './assistant.ts';

/** A client of the authorization server, and a browser that agrees without pages. */
export interface OauthClient extends Assistant {
  /** Begins an authorization. @param parameters replace the usual ones; null leaves one out */
  authorize(parameters?: Changes): Promise<TestResponse>;
  /** Lets the user of the browser's cookie agree. @returns the URL to which the browser goes back */
  agree(interactionUrl: string, choice?: { userId?: number; scopes?: McpScope[] }): Promise<string>;
  /** Opens an URL of this service. */
  open(url: string): Promise<TestResponse>;
  /** An authorization from beginning to end. @returns the code */
  code(scope?: string, scopes?: McpScope[]): Promise<string>;
}

/** The authorization server of an API, in this process, whose functions tests call. */
export function oauthServerOf(
  { config, database }: Pick<TestApi, 'config' | 'database'>,
  keyring = createKeyring(TEST_SECRET),
): OauthServer {
  const cookies = createSessionCookies(config.PUBLIC_URL, keyring);
  const sessionUses = { used: () => undefined, flush: async () => undefined, stop: async () => undefined };
  return createOauthServer({
    config,
    ownOrigin: createOwnOrigin(config.PUBLIC_URL),
    database,
    keyring,
    log: pino({ level: 'silent' }),
    egress: createEgress({ resolver: createResolver([]), allow: [], userAgent: 'test' }),
    rateLimiter: createRateLimiter(() => 1),
    findCookieSession: createFindCookieSession({ db: database.pool, cookies, sessionUses }),
  });
}

/**
 * @param options.cookie the browser's session; default: that of the owner
 * @param options.keyring of the server that shows the pages; default: that of the API
 */
export async function startClient(
  api: TestApi,
  options: { cookie?: string; keyring?: Keyring } = {},
): Promise<OauthClient> {
  const assistant = await createAssistant(api);
  const cookies = new Map<string, string>();
  const [name = '', value = ''] = (options.cookie ?? (await api.signIn()).cookie).split('=');
  cookies.set(name, value);
  const { interactions } = oauthServerOf(api, options.keyring);
  const origin = api.baseUrl;
  const cookieHeader = () => [...cookies].map((pair) => pair.join('=')).join('; ');

  async function open(url: string): Promise<TestResponse> {
    const response = await fetch(new URL(url, origin), {
      headers: { Cookie: cookieHeader(), Accept: 'text/html' },
      redirect: 'manual',
    });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      const at = pair.indexOf('=');
      cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
    return {
      status: response.status,
      headers: response.headers,
      body: {},
      list: [],
      text: await response.text(),
    };
  }

  const client: OauthClient = {
    ...assistant,
    open,
    authorize: (parameters = {}) => open(assistant.authorizationUrl(parameters).href),
    async agree(interactionUrl, { userId = api.userId, scopes } = {}) {
      const uid = interactionUrl.split('/').at(-1) ?? '';
      const request = {
        headers: { host: new URL(origin).host, cookie: cookieHeader() },
        socket: {},
      } as unknown as IncomingMessage;
      const open = await interactions.find(request, uid);
      if (!open) throw new Error('no such authorization');
      return inTransaction(api.database.pool, async (trx) => {
        const { key } = await createGrant(trx, {
          userId,
          client: open.client,
          resource: open.resource,
          scopes: scopes ?? open.scopes,
          choices: [{ accountId: api.accountId, brandId: api.brandId }],
        });
        return interactions.finish(trx, request, uid, { userId, grantKey: key });
      });
    },
    async code(scope = 'mcp:read', scopes) {
      const begun = await client.authorize({ scope });
      const resumed = await client.agree(begun.headers.get('location') ?? '', scopes ? { scopes } : {});
      const done = await open(resumed);
      return new URL(done.headers.get('location') ?? '').searchParams.get('code') ?? '';
    },
  };
  return client;
}
