import type pg from 'pg';
import { z } from 'zod';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { acceptSignedIn, declineSignedIn, listOwnInvitations } from './accepting.ts';
import { invitationParams, ownInvitationSchema } from './schema.ts';

const PATH = '/v1/my/user/invitations';
const tag = 'Invitations';

/** `/v1/my/user/invitations`: the invitations to the signed-in user. */
export function createOwnInvitationRoutes(pool: pg.Pool): RouteDefinition[] {
  return [
    defineRoute({
      method: 'GET',
      path: PATH,
      operationId: 'listOwnInvitations',
      tag,
      summary: 'List the invitations to the logged-in user, newest first',
      auth: 'user',
      responses: { 200: { description: 'The invitations.', schema: z.array(ownInvitationSchema) } },
      handler: async ({ session }) => ({
        status: 200,
        body: await listOwnInvitations(pool, session.userId),
      }),
    }),
    defineRoute({
      method: 'POST',
      path: `${PATH}/:id/accept`,
      operationId: 'acceptOwnInvitation',
      tag,
      summary: 'Accept an invitation to the logged-in user',
      auth: 'user',
      idempotency: 'none',
      params: invitationParams,
      responses: { 200: { description: 'The accepted invitation.', schema: ownInvitationSchema } },
      handler: async ({ session, params }) => ({
        status: 200,
        body: await acceptSignedIn(pool, session.userId, params.id),
      }),
    }),
    defineRoute({
      method: 'POST',
      path: `${PATH}/:id/decline`,
      operationId: 'declineOwnInvitation',
      tag,
      summary: 'Decline an invitation to the logged-in user',
      auth: 'user',
      idempotency: 'none',
      params: invitationParams,
      responses: { 200: { description: 'The declined invitation.', schema: ownInvitationSchema } },
      handler: async ({ session, params }) => ({
        status: 200,
        body: await declineSignedIn(pool, session.userId, params.id),
      }),
    }),
  ];
}
