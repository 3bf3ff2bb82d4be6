import type pg from 'pg';
import { z } from 'zod';
import type { Database } from '../../../platform/db/database.ts';
import { pageOf } from '../../../platform/db/paging.ts';
import { paginate } from '../../../platform/http/pagination.ts';
import { defineIdempotentRoute, defineRoute, type RouteDefinition } from '../../../platform/http/route.ts';
import { inboxRoles as roles } from '../inboxes/schema.ts';
import {
  createInboxBlockBody,
  inboxBlockParams,
  inboxBlockReadOnlyFields,
  inboxBlockSchema,
  listInboxBlocksQuery,
} from './schema.ts';
import { createBlock, getBlock, listBlocks, removeBlock } from './service.ts';

export interface InboxBlockRouteDeps {
  database: Database;
}

const tag = 'Inboxes';
const path = '/v1/my/inbox_blocks';

function createRoute(pool: pg.Pool): RouteDefinition {
  return defineIdempotentRoute({
    path,
    operationId: 'createInboxBlock',
    tag,
    summary: 'Block a sender',
    description:
      'From now on, mail to the brand’s inboxes from this address, or from any address at this domain and the domains ' +
      'below it, goes to quarantine. The From field decides. A brand has at most 10,000 blocks.',
    auth: 'brand',
    testKeys: 'refused',
    roles,
    body: createInboxBlockBody,
    readOnlyFields: inboxBlockReadOnlyFields,
    responses: { 201: { description: 'The block', schema: inboxBlockSchema } },
    errors: ['conflict', 'forbidden'],
    async handler({ tenant, body }, trx) {
      const block = await createBlock(trx, tenant, body);
      return { status: 201, body: block, resourceId: block.id };
    },
    load: ({ tenant }, id) => getBlock(pool, tenant, id),
  });
}

/** GET, POST and DELETE of /v1/my/inbox_blocks. */
export function createInboxBlockRoutes({ database: { pool } }: InboxBlockRouteDeps): RouteDefinition[] {
  return [
    createRoute(pool),
    defineRoute({
      method: 'GET',
      path,
      operationId: 'listInboxBlocks',
      tag,
      summary: 'List blocked senders, newest first',
      auth: 'brand',
      testKeys: 'refused',
      query: listInboxBlocksQuery,
      paginated: true,
      responses: { 200: { description: 'A page of blocks', schema: z.array(inboxBlockSchema) } },
      async handler(input) {
        const page = pageOf(input.query);
        const { blocks, count } = await listBlocks(pool, input.tenant, page);
        return paginate(input, page, blocks, count);
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: `${path}/:id`,
      operationId: 'deleteInboxBlock',
      tag,
      summary: 'No longer block a sender',
      description: 'Mail that is in quarantine stays there.',
      auth: 'brand',
      testKeys: 'refused',
      roles,
      params: inboxBlockParams,
      responses: { 200: { description: 'The removed block', schema: inboxBlockSchema } },
      handler: async ({ tenant, params }) => ({
        status: 200,
        body: await removeBlock(pool, tenant, params.id),
      }),
    }),
  ];
}
