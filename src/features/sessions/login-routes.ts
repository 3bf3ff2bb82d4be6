import { z } from 'zod';
import { invalid } from '../../errors.ts';
import { readReturnTo } from '../../platform/auth/return-to.ts';
import type { SessionIssuer } from '../../platform/auth/session-issuer.ts';
import { deleteSession } from '../../platform/auth/session-rows.ts';
import type { Database } from '../../platform/db/database.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { userSchema } from '../users/schema.ts';
import { getUser, presentUser } from '../users/service.ts';
import { credentialHeaders, loginBody, logoutBody } from './schema.ts';
import { endSessions } from './service.ts';
import type { SignIn } from './sign-in.ts';

export interface LoginRouteDeps {
  database: Database;
  sessions: SessionIssuer;
  signIn: SignIn;
}

const MAX_BODY_BYTES = 16 * 1024;

/** @throws AppError validation_error */
function returnToOf(text: string | undefined): Record<string, string> {
  if (text === undefined) return {};
  const path = readReturnTo(text);
  if (path === null) throw invalid({ return_to: ['must be a path of this service, such as /console'] });
  return { 'X-Return-To': path };
}

function loginRoute({ sessions, signIn }: LoginRouteDeps): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: '/v1/login',
    operationId: 'login',
    tag: 'Login',
    summary: 'Log a user in',
    description:
      'Returns the user. The Authorization header of the response has a session token, valid for 24 hours; or, with ' +
      '`session: cookie`, the response sets a cookie, which ends after 12 hours without a request, and after 14 days. ' +
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
        headers: {
          ...credentialHeaders,
          'X-Return-To': { description: 'The path of `return_to`', schema: z.string() },
        },
      },
    },
    errors: ['unauthorized', 'otp_required', 'forbidden'],
    async handler({ body, ctx: { req } }) {
      sessions.requireKind(req, body.session);
      const returnTo = returnToOf(body.return_to);
      const { user, headers } = await signIn(req, body.user, body.session);
      return { status: 200, body: presentUser(user), headers: { ...headers, ...returnTo } };
    },
  });
}

function logoutRoute({ database, sessions }: LoginRouteDeps): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: '/v1/logout',
    operationId: 'logout',
    tag: 'Login',
    summary: 'Log a user out',
    description:
      'The session is refused afterwards. `all` ends every session of the user. An API key has no session: 403.',
    auth: 'user',
    idempotency: 'none',
    body: logoutBody,
    bodyOptional: true,
    responses: { 200: { description: 'The user', schema: userSchema } },
    async handler({ session, body, ctx: { req } }) {
      const user = await inTransaction(database.pool, async (trx) => {
        if (body.all) await endSessions(trx, session.userId);
        else await deleteSession(trx, session.userId, session.id);
        return getUser(trx, session.userId);
      });
      return { status: 200, body: presentUser(user), headers: sessions.endHeaders(req, session) };
    },
  });
}

/** `POST /v1/login` and `POST /v1/logout`. */
export function createLoginRoutes(deps: LoginRouteDeps): RouteDefinition[] {
  return [loginRoute(deps), logoutRoute(deps)];
}
