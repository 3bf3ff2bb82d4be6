import { z } from 'zod';
import type { Database } from '../../platform/db/database.ts';
import { pageOf } from '../../platform/db/paging.ts';
import { paginate } from '../../platform/http/pagination.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { auditEntrySchema, listAuditQuery } from './schema.ts';
import { listEntries } from './service.ts';

/** `GET /v1/my/audit`. */
export function createAuditRoutes({ database: { pool } }: { database: Database }): RouteDefinition[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/my/audit',
      operationId: 'listAudit',
      tag: 'Audit',
      summary: 'Show who changed what in the account, newest first',
      description:
        'Has every change by a user; sends, status changes, deletions, webhooks, domains, imports, exports and ' +
        'suppressions also by API keys; and what operators change in the account by commands. Refused requests are ' +
        'missing, except those with 403. Entries are kept for 400 days.',
      auth: 'account',
      testKeys: 'refused',
      usersOnly: true,
      roles: ['owner', 'admin'],
      query: listAuditQuery,
      paginated: true,
      responses: { 200: { description: 'A page of entries', schema: z.array(auditEntrySchema) } },
      async handler(input) {
        const page = pageOf(input.query);
        const { entries, count } = await listEntries(pool, input.tenant, input.query, page);
        return paginate(input, page, entries, count);
      },
    }),
  ];
}
