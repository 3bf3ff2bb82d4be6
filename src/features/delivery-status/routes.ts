import type { Config } from '../../config.ts';
import { capacitySettings } from '../../delivery/limits/capacity.ts';
import type { Database } from '../../platform/db/database.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { deliveryStatusResource, readDeliveryStatus } from './service.ts';

/** GET /delivery/status. */
export function createDeliveryRoutes(deps: { config: Config; database: Database }): RouteDefinition[] {
  const settings = capacitySettings(deps.config);
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/my/delivery/status',
      operationId: 'getDeliveryStatus',
      tag: 'Delivery',
      summary: 'What may be sent now, and why not more',
      description:
        'A read-only projection of what the delivery authority counts. It reserves nothing; the send decides.',
      auth: 'brand',
      responses: { 200: { description: 'The projection.', schema: deliveryStatusResource } },
      async handler({ tenant }) {
        const { pool } = deps.database;
        return {
          status: 200,
          body: await readDeliveryStatus(pool, tenant, settings, deps.config.MAIL_DOMAIN),
        };
      },
    }),
  ];
}
