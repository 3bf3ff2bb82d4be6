import type pg from 'pg';
import { z } from 'zod';
import type { Database } from '../../platform/db/database.ts';
import { pageOf } from '../../platform/db/paging.ts';
import { paginate } from '../../platform/http/pagination.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { changeRole, listMembers, removeMember } from './members.ts';
import {
  changeMemberBody,
  listMembersQuery,
  memberParams,
  memberReadOnlyFields,
  memberSchema,
} from './schema.ts';

const PATH = '/v1/my/users';
const tag = 'Users';

function listRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: PATH,
    operationId: 'listUsers',
    tag,
    summary: 'List the users of the account, newest first',
    auth: 'account',
    usersOnly: true,
    query: listMembersQuery,
    paginated: true,
    responses: { 200: { description: 'A page of users.', schema: z.array(memberSchema) } },
    async handler(input) {
      const page = pageOf(input.query);
      const { members, count } = await listMembers(pool, input.tenant, page);
      return paginate(input, page, members, count);
    },
  });
}

function changeRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    method: 'PATCH',
    path: `${PATH}/:id`,
    operationId: 'changeUserRole',
    tag,
    summary: 'Change the role of a user',
    description:
      'An admin can neither make nor change an owner. An account keeps at least one owner: taking the role from the ' +
      'last one is a 409. Pending invitations by the user for roles above the new one are revoked.',
    auth: 'account',
    usersOnly: true,
    roles: ['owner', 'admin'],
    confirm: true,
    params: memberParams,
    body: changeMemberBody,
    readOnlyFields: memberReadOnlyFields,
    responses: { 200: { description: 'The changed user.', schema: memberSchema } },
    errors: ['conflict'],
    async handler({ tenant, params, body }) {
      return { status: 200, body: await changeRole(pool, tenant, params.id, body.role) };
    },
  });
}

function removeRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    method: 'DELETE',
    path: `${PATH}/:id`,
    operationId: 'removeUser',
    tag,
    summary: 'Remove a user from the account',
    description:
      'Owners and admins remove others, but an admin no owner; everyone may leave. The last owner stays: 409. The user ' +
      'keeps the sign-in, and other accounts. Pending invitations by the user are revoked, and the user’s assistants ' +
      'lose the account; API keys stay.',
    auth: 'account',
    usersOnly: true,
    confirm: true,
    params: memberParams,
    responses: { 200: { description: 'The removed user.', schema: memberSchema } },
    errors: ['conflict'],
    async handler({ tenant, params }) {
      return { status: 200, body: await removeMember(pool, tenant, params.id) };
    },
  });
}

/** `/v1/my/users`: the members of the current account. */
export function createMemberRoutes({ database: { pool } }: { database: Database }): RouteDefinition[] {
  return [listRoute(pool), changeRoute(pool), removeRoute(pool)];
}
