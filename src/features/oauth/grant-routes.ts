import type pg from 'pg';
import { z } from 'zod';
import { notFound } from '../../errors.ts';
import type { AccountTenant } from '../../platform/auth/tenant.ts';
import type { Database } from '../../platform/db/database.ts';
import { pageOf } from '../../platform/db/paging.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import { paginate } from '../../platform/http/pagination.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { listMcpGrantsQuery, type McpGrant, mcpGrantParams, mcpGrantSchema } from './grant-schema.ts';
import {
  countGrants,
  getGrant,
  type GrantFilter,
  type ListedGrant,
  listGrants,
  removeAccountFromGrants,
  revokeGrant,
} from './grant-list.ts';

const PATH = '/v1/my/mcp_grants';
const tag = 'MCP';

/** Owners see what all users have granted for the account; others see what they have granted themselves. */
function visibleTo({ accountId, role, actor }: AccountTenant): GrantFilter {
  return { accountId, userId: role === 'owner' ? undefined : actor.id, live: true };
}

function presentGrant(row: ListedGrant): McpGrant {
  return {
    id: row.id,
    user_id: row.user_id,
    user_email: row.user_email,
    client_name: row.client_name,
    client_host: row.client_host,
    redirect_host: row.redirect_host,
    scopes: row.scopes,
    brand_ids: row.choices.flatMap(({ brand_id: id }) => id ?? []),
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at?.toISOString() ?? null,
    expires_at: row.expires_at.toISOString(),
  };
}

function listRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: PATH,
    operationId: 'listMcpGrants',
    tag,
    summary: 'List the assistants that may use the account',
    description:
      'Applications that users have connected through MCP, newest first, without those that have ended. Owners see the ' +
      'applications of all users of the account; others see their own.',
    auth: 'account',
    usersOnly: true,
    query: listMcpGrantsQuery,
    paginated: true,
    responses: { 200: { description: 'A page of grants.', schema: z.array(mcpGrantSchema) } },
    async handler(input) {
      const page = pageOf(input.query);
      const filter = visibleTo(input.tenant);
      const [rows, count] = await Promise.all([listGrants(pool, filter, page), countGrants(pool, filter)]);
      return paginate(input, page, rows.map(presentGrant), count);
    },
  });
}

/**
 * Ends a user's own grant. An owner only takes the account out of the grant of another user, who may have granted other
 * accounts, too.
 */
function endGrant(pool: pg.Pool, tenant: AccountTenant, id: number): Promise<ListedGrant> {
  return inTransaction(pool, async (trx) => {
    const row = await getGrant(trx, { ...visibleTo(tenant), id });
    if (row.user_id === tenant.actor.id) {
      if (!(await revokeGrant(trx, id))) throw notFound('grant');
    } else {
      await removeAccountFromGrants(trx, tenant.accountId, { grantId: id });
    }
    return row;
  });
}

function endRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    method: 'DELETE',
    path: `${PATH}/:id`,
    operationId: 'endMcpGrant',
    tag,
    summary: 'Disconnect an assistant',
    description:
      'The next call of the application is refused. If an owner disconnects the application of another user, it loses ' +
      'this account, and keeps the other accounts of that user.',
    auth: 'account',
    usersOnly: true,
    params: mcpGrantParams,
    responses: { 200: { description: 'The grant as it was.', schema: mcpGrantSchema } },
    async handler({ tenant, params }) {
      return { status: 200, body: presentGrant(await endGrant(pool, tenant, params.id)) };
    },
  });
}

/** `/v1/my/mcp_grants` */
export function createGrantRoutes({ database: { pool } }: { database: Database }): RouteDefinition[] {
  return [listRoute(pool), endRoute(pool)];
}
