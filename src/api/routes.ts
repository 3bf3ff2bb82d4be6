import { createAuthRoutes } from '../auth/routes.ts';
import { createDeliveryRoutes } from '../delivery/routes.ts';
import { createResolver } from '../dns/resolver.ts';
import { createEgress } from '../egress/client.ts';
import type { RouteDefinition } from '../http/route.ts';
import { createMessageRoutes } from '../messages/routes.ts';
import { createMessageService } from '../messages/service.ts';
import { createHomeStore } from '../storage/local-disk.ts';
import { createSignedIds } from '../storage/signed-id.ts';
import { createUploadRoutes } from '../uploads/routes.ts';
import { createUploads } from '../uploads/service.ts';
import { createWebhookDeliveryRoutes } from '../webhooks/deliveries/routes.ts';
import { createWebhookRoutes } from '../webhooks/routes.ts';
import { createWebhookDeliveries, createWebhookManager, WEBHOOK_USER_AGENT } from '../webhooks/service.ts';
import { createAccountRooms } from './account-rooms.ts';
import type { ApiDeps } from './deps.ts';

function uploadRoutes({ config, database: { pool }, keyring }: ApiDeps): RouteDefinition[] {
  const store = createHomeStore(config.CARILLON_HOME);
  const uploads = createUploads({ db: pool, store, signedIds: createSignedIds(keyring) });
  return createUploadRoutes({ pool, uploads });
}

function webhookRoutes({ config, database: { pool }, keyring, waker, log }: ApiDeps): RouteDefinition[] {
  const egress = createEgress({
    resolver: createResolver(config.DNS_SERVERS),
    allow: config.EGRESS_ALLOW,
    userAgent: WEBHOOK_USER_AGENT,
  });
  const deliveries = createWebhookDeliveries({ pool });
  return [
    ...createWebhookRoutes({ pool, webhooks: createWebhookManager({ pool, keyring, egress, waker, log }) }),
    ...createWebhookDeliveryRoutes({ deliveries, waker }),
  ];
}

/**
 * Every route of the service. A new room adds one line here; OpenAPI, the tenant test and the metrics follow.
 */
export function createRoutes(deps: ApiDeps): RouteDefinition[] {
  const messages = createMessageService({
    pool: deps.database.pool,
    waker: deps.waker,
    mailDomain: deps.config.MAIL_DOMAIN,
    sandboxMonthlyCap: deps.config.SANDBOX_MONTHLY_CAP,
  });
  return [
    ...createAuthRoutes(deps),
    ...createAccountRooms(deps),
    ...createMessageRoutes({ messages }),
    ...createDeliveryRoutes(deps),
    ...uploadRoutes(deps),
    ...webhookRoutes(deps),
  ];
}
