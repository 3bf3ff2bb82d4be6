// Each route admits exactly the callers that its declaration names: by role, key, test key, account and confirmation.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { insertSession } from '../../../src/platform/auth/session-rows.ts';
import { createSessionTokens } from '../../../src/platform/auth/session-token.ts';
import type { Role } from '../../../src/platform/auth/tenant.ts';
import type { RouteDefinition } from '../../../src/platform/http/route.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { startTestApi, TEST_SECRET, type TestApi } from '../../support/api.ts';
import { insertGrant } from '../../support/grants.ts';

let api: TestApi;
const users = new Map<Role, number>();
beforeAll(async () => {
  api = await startTestApi();
  users.set('owner', api.userId);
  for (const role of ['admin', 'member'] as const) users.set(role, (await api.addUser(role)).userId);
});
afterAll(() => api.close());

interface Caller {
  name: string;
  headers(): Promise<Record<string, string>>;
  /** What the declaration of a route says about the caller: the status and code of a refusal; null: admitted. */
  refusal(route: RouteDefinition): string | null;
}

/** A new session for each request, because some requests end it. */
async function bearerOf(userId: number, options: { confirmed: boolean }) {
  const row = { userId, kind: 'token', secondFactor: false, network: null, userAgent: null } as const;
  const { session } = await insertSession(api.database.pool, row);
  if (!options.confirmed) {
    await api.database.pool.query(
      `update sessions set confirmed_at = now() - interval '1 hour' where id = $1`,
      [session.id],
    );
  }
  const tokens = createSessionTokens(createKeyring(TEST_SECRET));
  const { id: sessionId, expiresAt } = session;
  return { Authorization: `Bearer ${await tokens.issue({ userId, sessionId, expiresAt }, 'api')}` };
}

const FORBIDDEN = '403 forbidden';
const isForUsers = ({ auth, usersOnly }: RouteDefinition) => auth === 'user' || usersOnly === true;
const refusesRole = (role: Role, { roles }: RouteDefinition) =>
  roles?.includes(role) === false ? FORBIDDEN : null;

const userOf = (role: Role): Caller => ({
  name: role,
  headers: () => bearerOf(users.get(role) ?? 0, { confirmed: true }),
  refusal: (route) => refusesRole(role, route),
});

const unconfirmed: Caller = {
  name: 'owner who gave the password an hour ago',
  headers: () => bearerOf(api.userId, { confirmed: false }),
  refusal: (route) => refusesRole('owner', route) ?? (route.confirm ? '403 confirmation_required' : null),
};

const key: Caller = {
  name: 'key',
  headers: async () => ({ Authorization: `Bearer ${api.apiKey}` }),
  refusal: (route) => (isForUsers(route) ? FORBIDDEN : refusesRole('admin', route)),
};

const testKey: Caller = {
  name: 'test key',
  headers: async () => ({ Authorization: `Bearer ${api.testApiKey}` }),
  refusal(route) {
    if (isForUsers(route)) return FORBIDDEN;
    return route.testKeys === 'refused' ? '403 test_key' : refusesRole('admin', route);
  },
};

const strangers: Caller[] = [
  {
    name: 'user of another account',
    headers: async () => ({
      ...(await bearerOf(api.other.userId, { confirmed: true })),
      'X-Account-Id': String(api.accountId),
    }),
    refusal: ({ auth }) => (auth === 'user' ? null : '404 not_found'),
  },
  {
    name: 'key of another account',
    headers: async () => ({
      Authorization: `Bearer ${api.other.apiKey}`,
      'X-Account-Id': String(api.accountId),
    }),
    refusal: ({ auth }) => (auth === 'user' ? FORBIDDEN : '404 not_found'),
  },
  { name: 'without credentials', headers: async () => ({}), refusal: () => '401 unauthorized' },
];

/** Asks for a resource that does not exist, or with a body that is invalid, so that nothing changes. */
async function outcomeOf(route: RouteDefinition, caller: Caller): Promise<string> {
  const path = route.path.replaceAll(/:\w+/g, '999999999');
  const body = route.method === 'GET' ? undefined : { nonsense: 1 };
  const options = { token: null, headers: await caller.headers(), body };
  const answer = await api.request(route.method, path, options);
  return `${answer.status} ${String(answer.body.code)}`;
}

/** What a handler may refuse: a part of a route to test keys, and to members all users but themselves. */
function mayRefuse(route: RouteDefinition, caller: Caller): string[] {
  if (caller === testKey && typeof route.testKeys === 'object') return ['403 test_key'];
  return caller.name === 'member' && route.operationId === 'removeUser' ? [FORBIDDEN] : [];
}

/** Its token counts at the MCP endpoint, and nothing else does there. */
const assistant: Caller = {
  name: 'assistant',
  async headers() {
    const { accountId, brandId, userId, baseUrl, database } = api;
    const choices = [{ accountId, brandId }];
    const { accessToken } = await insertGrant(database.pool, { baseUrl, userId, choices });
    return { Authorization: `Bearer ${accessToken}` };
  },
  refusal: ({ auth }) => (auth === 'grant' ? null : '401 unauthorized'),
};

const callers = [
  assistant,
  userOf('owner'),
  userOf('admin'),
  userOf('member'),
  unconfirmed,
  key,
  testKey,
  ...strangers,
];

describe.each(callers.map((caller) => [caller.name, caller] as const))('the caller %s', (_name, caller) => {
  it('is admitted to the routes that say so, and refused by all others', async () => {
    // What is removed comes last.
    const routes = api.routes
      .filter(({ auth }) => auth !== 'none')
      .sort((one, other) => Number(one.method === 'DELETE') - Number(other.method === 'DELETE'));
    expect(routes.length).toBeGreaterThan(100);
    const wrong: unknown[] = [];
    for (const route of routes) {
      const outcome = await outcomeOf(route, caller);
      const isForAssistants = route.auth === 'grant' && caller !== assistant;
      const expected = isForAssistants ? '401 unauthorized' : caller.refusal(route);
      const isRefused = /^(401|403) /.test(outcome) && !mayRefuse(route, caller).includes(outcome);
      const isRight = expected === null ? !isRefused : outcome === expected;
      if (!isRight) wrong.push([route.operationId, outcome, expected ?? 'admitted']);
      expect(outcome).not.toMatch(/^5/);
    }
    expect(wrong).toEqual([]);
  });
});
