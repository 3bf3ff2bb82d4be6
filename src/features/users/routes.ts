import { z } from 'zod';
import { clientNetwork, createClientAddress, UNKNOWN_NETWORK } from '../../platform/auth/client-address.ts';
import type { SessionTokens } from '../../platform/auth/session-token.ts';
import type { Database } from '../../platform/db/database.ts';
import type { RateLimiter } from '../../platform/http/rate-limiter.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { presentUser } from './presenter.ts';
import { loginBody, userSchema } from './schema.ts';
import { createLogin, emailKey } from './service.ts';

export interface AuthRouteDeps {
  config: { TRUSTED_PROXIES: string[] };
  database: Database;
  tokens: SessionTokens;
  rateLimiter: RateLimiter;
}

const MAX_BODY_BYTES = 16 * 1024;

/** `POST /v1/login`. */
export function createAuthRoutes({
  config,
  database,
  tokens,
  rateLimiter,
}: AuthRouteDeps): RouteDefinition[] {
  const login = createLogin(database.pool, ({ email, network }) =>
    rateLimiter.login(network ?? UNKNOWN_NETWORK, emailKey(email)),
  );
  const clientAddress = createClientAddress(config.TRUSTED_PROXIES);
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/login',
      operationId: 'login',
      tag: 'Login',
      summary: 'Log a user in',
      description:
        'Returns the user. The Authorization header of the response has a session token, valid for 24 hours. ' +
        'Failed logins are limited: 10 a minute for one email address from one network, 100 for an email address, and ' +
        '100 from a network. From networks where the user has logged in within 30 days, they are not.',
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
        const user = await login.logIn({ ...body.user, network: address && clientNetwork(address) });
        const token = await tokens.issue({ userId: user.id, sessionVersion: user.session_version }, 'api');
        return { status: 200, body: presentUser(user), headers: { Authorization: `Bearer ${token}` } };
      },
    }),
  ];
}
