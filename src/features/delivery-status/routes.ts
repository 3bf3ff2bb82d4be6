import type { Config } from '../../config.ts';
import { limitSettings } from '../../delivery/ledger/limits/authority.ts';
import type { Database } from '../../platform/db/database.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { deliveryStatusResource, readDeliveryStatus } from './service.ts';

/** GET /delivery/status. */
export function createDeliveryRoutes(deps: { config: Config; database: Database }): RouteDefinition[] {
  const settings = limitSettings(deps.config);
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/my/delivery/status',
      operationId: 'getDeliveryStatus',
      tag: 'Delivery',
      summary: 'Show what can be sent now, and what limits it',
      description:
        'Returns the figures that limit sending. Reading them reserves nothing; each message is checked again when it is sent.',
      auth: 'brand',
      testKeys: 'allowed',
      assistants: {
        sharedFields: ['commercial.spent_this_month_cents', 'commercial.wallet_balance_cents'],
      },
      responses: { 200: { description: 'The current figures.', schema: deliveryStatusResource } },
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
