import type pg from 'pg';
import { clientNetwork, createClientAddress } from '../../platform/auth/client-address.ts';
import type { Database } from '../../platform/db/database.ts';
import type { HttpContext } from '../../platform/http/context.ts';
import type { RateLimiter } from '../../platform/http/rate-limiter.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { createWithSecret, type WithSecret } from '../../platform/http/secret-links.ts';
import { RESET_HOURS } from './reset-links.ts';
import { getReset, requestReset, type Reset, type ResetDeps, resetPassword } from './resets.ts';
import {
  linkParams,
  requestResetBody,
  resetPasswordBody,
  resetRequestSchema,
  resetSchema,
} from './schema.ts';
import type { PasswordChecks } from './service.ts';

export interface ResetRouteDeps {
  config: { TRUSTED_PROXIES: string[] };
  database: Database;
  rateLimiter: RateLimiter;
  hashPassword: PasswordChecks['hashPassword'];
}

const PATH = '/v1/password_resets';
const tag = 'Login';
const MAX_BODY_BYTES = 16 * 1024;

type NetworkOf = (ctx: HttpContext) => string;

function requestRoute(pool: pg.Pool, rateLimiter: RateLimiter, networkOf: NetworkOf): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: PATH,
    operationId: 'requestPasswordReset',
    tag,
    summary: 'Request a link for a new password',
    description:
      'If the address belongs to a user, a link is mailed to it, at most three in an hour. The response is the same for ' +
      'all addresses. No mail is sent if the installation has no `PUBLIC_URL` or no `MAIL_DOMAIN`; an operator can then ' +
      'make a link.',
    auth: 'none',
    idempotency: 'none',
    body: requestResetBody,
    maxBodyBytes: MAX_BODY_BYTES,
    responses: { 200: { description: 'The request was taken.', schema: resetRequestSchema } },
    async handler({ body, ctx }) {
      rateLimiter.passwordReset(networkOf(ctx));
      await requestReset(pool, body.email);
      return { status: 200, body: { email: body.email } };
    },
  });
}

const presentReset = ({ email, expiresAt }: Reset) => ({ email, expires_at: expiresAt.toISOString() });

function linkRoutes(deps: ResetDeps, withSecret: WithSecret): RouteDefinition[] {
  const path = `${PATH}/:token`;
  const shared = { path, tag, auth: 'none', params: linkParams } as const;
  return [
    defineRoute({
      ...shared,
      method: 'GET',
      operationId: 'showPasswordReset',
      summary: 'Show whether a link for a new password works',
      description: `A link works once, for ${RESET_HOURS} hour. Looking at it changes nothing.`,
      responses: { 200: { description: 'It works.', schema: resetSchema } },
      async handler({ params: { token }, ctx }) {
        const reset = await withSecret(ctx, () => getReset(deps.pool, token));
        return { status: 200, body: presentReset(reset) };
      },
    }),
    defineRoute({
      ...shared,
      method: 'POST',
      operationId: 'resetPassword',
      summary: 'Set a new password by a link',
      description:
        'Ends all sessions of the user, disconnects the user’s assistants, and starts no session. A second factor stays ' +
        'on: signing in still needs its code.',
      idempotency: 'none',
      body: resetPasswordBody,
      maxBodyBytes: MAX_BODY_BYTES,
      responses: { 200: { description: 'The new password is set.', schema: resetSchema } },
      async handler({ params: { token }, body, ctx }) {
        const reset = await withSecret(ctx, () => resetPassword(deps, token, body.password));
        return { status: 200, body: presentReset(reset) };
      },
    }),
  ];
}

/** `/v1/password_resets` */
export function createResetRoutes({
  config,
  database: { pool },
  rateLimiter,
  hashPassword,
}: ResetRouteDeps): RouteDefinition[] {
  const clientAddress = createClientAddress(config.TRUSTED_PROXIES);
  const networkOf = (ctx: HttpContext) => clientNetwork(clientAddress(ctx.req));
  const withSecret = createWithSecret(config, rateLimiter);
  return [requestRoute(pool, rateLimiter, networkOf), ...linkRoutes({ pool, hashPassword }, withSecret)];
}
