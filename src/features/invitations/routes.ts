import type pg from 'pg';
import { z } from 'zod';
import type { Config } from '../../config.ts';
import type { Database } from '../../platform/db/database.ts';
import { pageOf } from '../../platform/db/paging.ts';
import { requireConfirmed } from '../../platform/auth/session.ts';
import type { Waker } from '../../platform/db/wake.ts';
import { paginate } from '../../platform/http/pagination.ts';
import type { RateLimiter } from '../../platform/http/rate-limiter.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { linkDelivery, type LinkDelivery } from '../system-mail/service.ts';
import type { PasswordChecks } from '../users/service.ts';
import { getInvitation, invite, listInvitations, resendInvitation, revoke } from './inviting.ts';
import { INVITATION_DAYS } from './model.ts';
import { createLinkRoutes } from './link-routes.ts';
import { createOwnInvitationRoutes } from './own-routes.ts';
import {
  createInvitationBody,
  invitationParams,
  invitationReadOnlyFields,
  invitationSchema,
  listInvitationsQuery,
  newInvitationSchema,
} from './schema.ts';

export interface InvitationRouteDeps {
  config: Pick<Config, 'PUBLIC_URL' | 'MAIL_DOMAIN' | 'SYSTEM_FROM' | 'TRUSTED_PROXIES'>;
  database: Database;
  rateLimiter: RateLimiter;
  hashPassword: PasswordChecks['hashPassword'];
  waker: Pick<Waker, 'wake'>;
}

interface RouteParts {
  pool: pg.Pool;
  delivery: LinkDelivery;
  waker: Pick<Waker, 'wake'>;
}

const PATH = '/v1/my/invitations';
const shared = {
  tag: 'Invitations',
  auth: 'account',
  usersOnly: true,
  roles: ['owner', 'admin'],
} satisfies Partial<RouteDefinition>;

function listRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    ...shared,
    method: 'GET',
    path: PATH,
    operationId: 'listInvitations',
    summary: 'List invitations that are neither accepted nor revoked, newest first',
    query: listInvitationsQuery,
    paginated: true,
    responses: { 200: { description: 'A page of invitations.', schema: z.array(invitationSchema) } },
    async handler(input) {
      const page = pageOf(input.query);
      const { invitations, count } = await listInvitations(pool, input.tenant, page);
      return paginate(input, page, invitations, count);
    },
  });
}

function createRoute({ pool, delivery, waker }: RouteParts): RouteDefinition {
  return defineRoute({
    ...shared,
    method: 'POST',
    path: PATH,
    operationId: 'createInvitation',
    summary: 'Invite an address to the account',
    description:
      `The address gets a mail: a new user a link to choose a password, an existing user the request to sign in and accept. ` +
      `An invitation is valid for ${INVITATION_DAYS} days. An admin cannot invite an owner; to invite an admin or owner, ` +
      'the password must have been given within 15 minutes. A member, or an address with a pending invitation, is a 409. ' +
      'An account invites at most 100 addresses a day, and one address at most three times.',
    idempotency: 'none',
    body: createInvitationBody,
    readOnlyFields: invitationReadOnlyFields,
    responses: { 201: { description: 'The invitation.', schema: newInvitationSchema } },
    errors: ['conflict', 'confirmation_required'],
    async handler({ tenant, session, body }) {
      if (body.role !== 'member') requireConfirmed(session);
      const { invitation, mailed } = await invite(pool, delivery, tenant, body);
      if (mailed) waker.wake('send');
      return { status: 201, body: invitation };
    },
  });
}

function resendRoute({ pool, delivery, waker }: RouteParts): RouteDefinition {
  return defineRoute({
    ...shared,
    method: 'POST',
    path: `${PATH}/:id/resend`,
    operationId: 'resendInvitation',
    summary: 'Send an invitation again',
    description: `Its ${INVITATION_DAYS} days start again, and earlier links no longer work. It is mailed at most five times.`,
    idempotency: 'none',
    params: invitationParams,
    responses: { 200: { description: 'The invitation.', schema: newInvitationSchema } },
    errors: ['confirmation_required'],
    async handler({ tenant, session, params: { id } }) {
      const { role } = await getInvitation(pool, tenant, id);
      if (role !== 'member') requireConfirmed(session);
      const { invitation, mailed } = await resendInvitation(pool, delivery, tenant, id);
      if (mailed) waker.wake('send');
      return { status: 200, body: invitation };
    },
  });
}

function revokeRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    ...shared,
    method: 'DELETE',
    path: `${PATH}/:id`,
    operationId: 'revokeInvitation',
    summary: 'Revoke an invitation',
    description: 'Its link no longer works. An admin cannot revoke the invitation of an owner.',
    params: invitationParams,
    responses: { 200: { description: 'The revoked invitation.', schema: invitationSchema } },
    handler: async ({ tenant, params }) => ({ status: 200, body: await revoke(pool, tenant, params.id) }),
  });
}

/** `/v1/my/invitations`, `/v1/invitations/:token` and `/v1/my/user/invitations`. */
export function createInvitationRoutes(deps: InvitationRouteDeps): RouteDefinition[] {
  const { config, waker } = deps;
  const { pool } = deps.database;
  const parts = { pool, delivery: linkDelivery(config), waker };
  return [
    listRoute(pool),
    createRoute(parts),
    resendRoute(parts),
    revokeRoute(pool),
    ...createLinkRoutes({ pool, hashPassword: deps.hashPassword }, config, deps.rateLimiter),
    ...createOwnInvitationRoutes(pool),
  ];
}
