import { z } from 'zod';
import { AppError } from '../../errors.ts';
import { createClientAddress, loginNetwork, UNKNOWN_NETWORK } from '../../platform/auth/client-address.ts';
import type { SessionTokens } from '../../platform/auth/session-token.ts';
import type { Database } from '../../platform/db/database.ts';
import type { RateLimiter } from '../../platform/http/rate-limiter.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { presentUser } from './presenter.ts';
import { loginBody, logoutBody, userSchema } from './schema.ts';
import { createLogin, emailKey, endSession } from './service.ts';

export interface AuthRouteDeps {
  config: { TRUSTED_PROXIES: string[] };
  database: Database;
  tokens: SessionTokens;
  rateLimiter: RateLimiter;
}

const MAX_BODY_BYTES = 16 * 1024;

function loginRoute({ config, database, tokens, rateLimiter }: AuthRouteDeps): RouteDefinition {
  const login = createLogin(database.pool, ({ email, network }, isKnown) =>
    rateLimiter.login(network ?? UNKNOWN_NETWORK, emailKey(email), isKnown),
  );
  const clientAddress = createClientAddress(config.TRUSTED_PROXIES);
  return defineRoute({
    method: 'POST',
    path: '/v1/login',
    operationId: 'login',
    tag: 'Login',
    summary: 'Log a user in',
    description:
      'Returns the user. The Authorization header of the response has a session token, valid for 24 hours. ' +
      'Failed logins are limited: 10 per minute for an email address from one network, 100 for an email address, and ' +
      '100 from a network. From a network where the user has logged in within 30 days, the user has a separate limit of ' +
      '100, which others cannot exhaust. If too many logins are waiting to be checked, the response is 503.',
    auth: 'none',
    idempotency: 'none',
    body: loginBody,
    maxBodyBytes: MAX_BODY_BYTES,
    responses: {
      200: {
        description: 'The user',
        schema: userSchema,
        headers: { Authorization: { description: '`Bearer` and the session token', schema: z.string() } },
      },
    },
    errors: ['unauthorized'],
    async handler({ body, ctx }) {
      const address = clientAddress(ctx.req);
      const user = await login.logIn({ ...body.user, network: address && loginNetwork(address) });
      const token = await tokens.issue({ userId: user.id, sessionVersion: user.session_version }, 'api');
      return { status: 200, body: presentUser(user), headers: { Authorization: `Bearer ${token}` } };
    },
  });
}

function logoutRoute({ database }: AuthRouteDeps): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: '/v1/logout',
    operationId: 'logout',
    tag: 'Login',
    summary: 'Log a user out',
    description:
      'The token is refused afterwards. `all` ends every session of the user. An API key has no session: 403.',
    auth: 'account',
    testKeys: 'refused',
    idempotency: 'none',
    body: logoutBody,
    bodyOptional: true,
    responses: { 200: { description: 'The user', schema: userSchema } },
    errors: ['forbidden'],
    async handler({ body, ctx }) {
      const session = ctx.state.principal?.session;
      if (!session) throw new AppError('forbidden', 'an API key has no session');
      return { status: 200, body: presentUser(await endSession(database.pool, session, body)) };
    },
  });
}

/** `POST /v1/login` and `POST /v1/logout`. */
export function createAuthRoutes(deps: AuthRouteDeps): RouteDefinition[] {
  return [loginRoute(deps), logoutRoute(deps)];
}
