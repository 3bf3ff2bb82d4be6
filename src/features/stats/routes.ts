import type { Database } from '../../platform/db/database.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { statsQuery, statsSchema } from './schema.ts';
import { getStats } from './service.ts';

/** GET /stats. */
export function createStatsRoutes({ database: { pool } }: { database: Database }): RouteDefinition[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/my/stats',
      operationId: 'getStats',
      tag: 'Stats',
      summary: 'Show figures over time',
      description:
        'How many messages were sent, delivered, bounced, complained about, opened and clicked by people, and from how ' +
        'many people unsubscribed, by hour or day. Each counts once for a message, when it happened. Tests do not ' +
        'count. At most 1,100 points in all series together.',
      auth: 'account',
      testKeys: 'refused',
      query: statsQuery,
      responses: { 200: { description: 'The figures.', schema: statsSchema } },
      async handler({ tenant, query }) {
        return { status: 200, body: await getStats(pool, tenant, query) };
      },
    }),
  ];
}
