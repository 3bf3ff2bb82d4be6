import { z } from 'zod';
import { memberRoles } from '../../platform/auth/tenant.ts';
import type { Database } from '../../platform/db/database.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { findOwnAccounts } from './model.ts';

const ownAccountSchema = z
  .object({
    id: z.int(),
    name: z.string(),
    role: z.enum(memberRoles),
    brands: z.array(z.object({ id: z.int(), company_name: z.string() }).meta({ id: 'OwnAccountBrand' })),
  })
  .meta({ id: 'OwnAccount' });

/** `GET /v1/my/accounts`. */
export function createOwnAccountsRoute({ database: { pool } }: { database: Database }): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: '/v1/my/accounts',
    operationId: 'listOwnAccounts',
    tag: 'Sessions',
    summary: 'List the accounts of the signed-in user',
    description:
      'Other requests choose among them by `X-Account-Id`, and among their brands by `X-Brand-Id`. Without either, they ' +
      'use the first account and its first brand.',
    auth: 'user',
    responses: { 200: { description: 'The accounts', schema: z.array(ownAccountSchema) } },
    handler: async ({ session }) => ({ status: 200, body: await findOwnAccounts(pool, session.userId) }),
  });
}
