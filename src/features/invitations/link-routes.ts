import type { RateLimiter } from '../../platform/http/rate-limiter.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { createWithSecret } from '../../platform/http/secret-links.ts';
import { linkParams, userSchema } from '../users/schema.ts';
import { presentUser } from '../users/service.ts';
import { type AcceptDeps, acceptByLink, showInvitation } from './accepting.ts';
import { acceptBody, shownInvitationSchema } from './schema.ts';

const MAX_BODY_BYTES = 16 * 1024;

/** `/v1/invitations/:token`: for people who are not users yet. */
export function createLinkRoutes(
  deps: AcceptDeps,
  config: { TRUSTED_PROXIES: string[] },
  rateLimiter: RateLimiter,
): RouteDefinition[] {
  const withSecret = createWithSecret(config, rateLimiter);
  const shared = { tag: 'Invitations', auth: 'none', params: linkParams } as const;
  return [
    defineRoute({
      ...shared,
      method: 'GET',
      path: '/v1/invitations/:token',
      operationId: 'showInvitation',
      summary: 'Show the invitation of a link',
      description: 'A link works once, until it expires or is revoked. Looking at it changes nothing.',
      responses: { 200: { description: 'The invitation.', schema: shownInvitationSchema } },
      async handler({ params: { token }, ctx }) {
        return { status: 200, body: await withSecret(ctx, () => showInvitation(deps.pool, token)) };
      },
    }),
    defineRoute({
      ...shared,
      method: 'POST',
      path: '/v1/invitations/:token/accept',
      operationId: 'acceptInvitation',
      summary: 'Become a user by the link of an invitation',
      description:
        'Creates the user, who can then log in; it starts no session. If the address has got a user since, the response ' +
        'is a 409: that user signs in and accepts.',
      idempotency: 'none',
      body: acceptBody,
      maxBodyBytes: MAX_BODY_BYTES,
      responses: { 201: { description: 'The new user.', schema: userSchema } },
      errors: ['conflict'],
      async handler({ params: { token }, body, ctx }) {
        const user = await withSecret(ctx, () => acceptByLink(deps, token, body));
        return { status: 201, body: presentUser(user) };
      },
    }),
  ];
}
