import pino, { type Logger } from 'pino';
import { loadConfig, type Config } from '../../src/config.ts';
import { createAccount } from '../../src/features/accounts/service.ts';
import { createApiKey } from '../../src/features/api-keys/service.ts';
import { addMember } from '../../src/features/users/service.ts';
import { insertSession } from '../../src/platform/auth/session-rows.ts';
import { createSessionTokens } from '../../src/platform/auth/session-token.ts';
import type { Role } from '../../src/platform/auth/tenant.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { inTransaction } from '../../src/platform/db/queryable.ts';
import type { RouteDefinition } from '../../src/platform/http/route.ts';
import { upkeep } from '../../src/features/upkeep.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { openKeyring } from '../../src/platform/secrets/stored-keys.ts';
import { startApi } from '../../src/roles/api.ts';
import { createTestDatabase } from './database.ts';

export const TEST_SECRET = 'a secret of the tests that is long enough';
export const TEST_PASSWORD = 'correct horse battery staple';

export interface TestTenant {
  accountId: number;
  brandId: number;
  /** Live key of the brand. */
  apiKey: string;
  apiKeyId: number;
  /** `crl_test_` key of the brand. */
  testApiKey: string;
  /** The owner's email address. The password is {@link TEST_PASSWORD}. */
  userId: number;
  email: string;
  userJwt: string;
}

export interface TestRequest {
  /** Bearer token. Default: the API key of the first tenant. Null sends none. */
  token?: string | null;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent unchanged, instead of `body`. */
  rawBody?: string | Uint8Array<ArrayBuffer> | FormData;
  headers?: Record<string, string>;
}

/** A JSON object whose fields tests read without casts: `expect(body.brand?.id).toBe(1)`. */
export interface TestBody {
  [field: string]: TestBody;
}

export interface TestResponse<Body = TestBody> {
  status: number;
  headers: Headers;
  /** Parsed JSON; an empty object if the response is not JSON. */
  body: Body;
  /** The parsed array; empty if the response is not an array. */
  list: TestBody[];
  text: string;
}

/** A browser that is signed in. */
export interface CookieSession {
  /** `name=value` */
  cookie: string;
  csrfToken: string;
  /** The headers of our own pages. Send them with `token: null`. */
  headers: { Cookie: string; Origin: string; 'X-CSRF-Token': string };
}

/** Two accounts in a running service. */
export interface TestTenants extends TestTenant {
  baseUrl: string;
  database: Database;
  /** Another account with its own brand, key and owner. */
  other: TestTenant;
  request<Body = TestBody>(method: string, path: string, options?: TestRequest): Promise<TestResponse<Body>>;
  /** Signs a user in with a cookie, by their password {@link TEST_PASSWORD}. @param email default: the owner's */
  signIn(email?: string): Promise<CookieSession>;
  /** Adds a user with this role to the first account, and logs them in. */
  addUser(role: Role): Promise<{ userId: number; email: string; userJwt: string }>;
}

export interface TestApi extends TestTenants {
  port: number;
  /** URL of `/metrics`. */
  opsUrl: string;
  config: Config;
  routes: RouteDefinition[];
  close(): Promise<void>;
}

export interface TestApiOptions {
  /** Settings, as environment variables. */
  env?: Record<string, string>;
  /** Additional routes, besides the service's own. */
  extraRoutes?: RouteDefinition[];
  /** The folder of the console's bundle, instead of the project's. */
  consoleFolder?: string;
  log?: Logger;
}

/** Signs a user in, and returns the token. */
async function sessionFor({ pool }: Database, userId: number): Promise<string> {
  const { session } = await insertSession(pool, {
    userId,
    kind: 'token',
    secondFactor: false,
    network: null,
    userAgent: null,
  });
  const tokens = createSessionTokens(createKeyring(TEST_SECRET));
  return tokens.issue({ userId, sessionId: session.id, expiresAt: session.expiresAt }, 'api');
}

/** Creates an account with brand, owner and keys. */
export async function createTestTenant(database: Database, name: string): Promise<TestTenant> {
  const email = `owner@${name.toLowerCase().replaceAll(/[^a-z0-9]/g, '-')}.test`;
  const owner = { email, password: TEST_PASSWORD, firstName: 'Olive', lastName: 'Owner' };
  const made = await inTransaction(database.pool, (trx) => createAccount(trx, { name, owner }));
  const accountId = made.account.id;
  const live = await createApiKey(database.pool, { accountId });
  const test = await createApiKey(database.pool, { accountId, test: true });
  return {
    accountId,
    brandId: made.brandId,
    apiKey: live.key,
    apiKeyId: live.apiKey.id,
    testApiKey: test.key,
    userId: made.owner.userId,
    email,
    userJwt: await sessionFor(database, made.owner.userId),
  };
}

function bodyOf(options: TestRequest): { body?: string | Uint8Array | FormData; type?: string } {
  if (options.rawBody !== undefined) return { body: options.rawBody };
  if (options.body === undefined) return {};
  return { body: JSON.stringify(options.body), type: 'application/json' };
}

async function send<Body>(
  baseUrl: string,
  apiKey: string,
  method: string,
  path: string,
  options: TestRequest,
): Promise<TestResponse<Body>> {
  const token = options.token === undefined ? apiKey : options.token;
  const { body, type } = bodyOf(options);
  const response = await fetch(`${baseUrl}${path}`, {
    method,
    headers: {
      ...(type ? { 'Content-Type': type } : {}),
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
      ...options.headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') && text !== '';
  const parsed: unknown = isJson ? JSON.parse(text) : {};
  return {
    status: response.status,
    headers: response.headers,
    body: parsed as Body,
    list: Array.isArray(parsed) ? (parsed as TestBody[]) : [],
    text,
  };
}

function testConfig(url: string, env: Record<string, string> = {}): Config {
  return loadConfig({
    NODE_ENV: 'test',
    PORT: '0',
    OPS_PORT: '0',
    DATABASE_URL: url,
    APP_SECRET: TEST_SECRET,
    RATE_LIMIT_PER_KEY: '0',
    SHUTDOWN_GRACE_SECONDS: '2',
    MAIL_DOMAIN: 'mail.test',
    ...env,
  });
}

async function signIn(api: Pick<TestApi, 'request'>, origin: string, email: string): Promise<CookieSession> {
  const answer = await api.request('POST', '/v1/login', {
    token: null,
    headers: { Origin: origin },
    body: { user: { email, password: TEST_PASSWORD }, session: 'cookie' },
  });
  const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';');
  const csrfToken = answer.headers.get('x-csrf-token') ?? '';
  if (answer.status !== 200) throw new Error(`not signed in: ${answer.text}`);
  return { cookie, csrfToken, headers: { Cookie: cookie, Origin: origin, 'X-CSRF-Token': csrfToken } };
}

/**
 * Creates two accounts in a service that runs.
 * @param names of the accounts; no other account of the service may have one of them
 */
export async function createTestTenants(
  { database, baseUrl }: Pick<TestTenants, 'database' | 'baseUrl'>,
  [name, otherName]: readonly [string, string] = ['Acme', 'Other Company'],
): Promise<TestTenants> {
  const own = await createTestTenant(database, name);
  const other = await createTestTenant(database, otherName);
  const domain = own.email.slice(own.email.indexOf('@') + 1);
  let users = 0;
  const tenants: TestTenants = {
    ...own,
    baseUrl,
    database,
    other,
    request: (method, path, request = {}) => send(baseUrl, own.apiKey, method, path, request),
    signIn: (email = own.email) => signIn(tenants, baseUrl, email),
    async addUser(role) {
      users += 1;
      const email = `${role}-${users}@${domain}`;
      const added = await addMember(database.pool, {
        accountId: own.accountId,
        role,
        email,
        password: TEST_PASSWORD,
      });
      return { userId: added.userId, email, userJwt: await sessionFor(database, added.userId) };
    },
  };
  return tenants;
}

/** Starts the API on a free port and its own database, with two accounts. Call `close` in `afterAll`. */
export async function startTestApi(options: TestApiOptions = {}): Promise<TestApi> {
  const test = await createTestDatabase();
  const config = testConfig(test.url, options.env);
  const log = options.log ?? pino({ level: 'silent' });
  const { database } = test;
  let server: Awaited<ReturnType<typeof startApi>> | null = await startApi({
    config,
    database,
    keyring: await openKeyring(database.pool, config, upkeep),
    log,
    extraRoutes: options.extraRoutes ?? [],
    consoleFolder: options.consoleFolder,
  });
  const tenants = await createTestTenants({ database, baseUrl: `http://127.0.0.1:${server.port}` });
  const api: TestApi = {
    ...tenants,
    port: server.port,
    opsUrl: `http://127.0.0.1:${server.opsPort}`,
    config,
    routes: server.routes,
    async close() {
      await server?.stop();
      await test.drop();
      // The test file's variables live as long as its process, but the server's 3 MB need not.
      server = null;
      api.routes = [];
    },
  };
  return api;
}
