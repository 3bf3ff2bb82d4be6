import { z } from 'zod';
import type { Database } from '../../platform/db/database.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { foundSchema, hasMail, MAX_RESULTS, searchQuery } from './schema.ts';
import { search } from './service.ts';

/** `GET /v1/my/search`. */
export function createSearchRoutes({ database: { pool } }: { database: Database }): RouteDefinition[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/my/search',
      operationId: 'search',
      tag: 'Search',
      summary: 'Find resources by an address, an id or a name',
      description:
        'An address finds its contact, suppression and newest conversations and messages. An id finds every resource ' +
        'that has it. Any other text finds campaigns, flows, templates, lists and segments whose names begin with it. ' +
        `Finds only what the role of the caller may read, at most ${MAX_RESULTS} results.`,
      auth: 'brand',
      testKeys: 'refused',
      assistants: { mail: hasMail },
      query: searchQuery,
      responses: { 200: { description: 'What was found.', schema: z.array(foundSchema) } },
      handler: async ({ tenant, query }) => ({ status: 200, body: await search(pool, tenant, query.q) }),
    }),
  ];
}
