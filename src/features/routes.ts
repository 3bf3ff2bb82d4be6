import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { capacitySettings } from '../delivery/limits/capacity.ts';
import type { SessionTokens } from '../platform/auth/session-token.ts';
import type { Database } from '../platform/db/database.ts';
import type { Waker } from '../platform/db/wake.ts';
import { createResolver } from '../platform/dns/resolver.ts';
import { createEgress } from '../platform/egress/client.ts';
import type { RateLimiter } from '../platform/http/rate-limiter.ts';
import type { RouteDefinition } from '../platform/http/route.ts';
import type { Keyring } from '../platform/secrets/keyring.ts';
import { createSignedIds } from '../platform/secrets/signed-id.ts';
import { createHomeStore } from '../platform/storage/local-disk.ts';
import { createAccountRoutes } from './accounts/routes.ts';
import { createAccountProfile } from './accounts/service.ts';
import type { BrandRow } from './brands/model.ts';
import { presentBrand } from './brands/presenter.ts';
import { createBrandRoutes } from './brands/routes.ts';
import { createBrandService } from './brands/service.ts';
import { createDeliveryRoutes } from './delivery-status/routes.ts';
import { createMessageRoutes } from './messages/routes.ts';
import { createMessageService } from './messages/service.ts';
import { createUploadRoutes } from './uploads/routes.ts';
import { createImageReferences, uploadUrl, createUploads } from './uploads/service.ts';
import { createAuthRoutes } from './users/routes.ts';
import type { Login } from './users/service.ts';
import { WEBHOOK_USER_AGENT } from './webhooks/attempts/attempt.ts';
import { createWebhookDeliveryRoutes } from './webhooks/deliveries/routes.ts';
import { createWebhookDeliveries } from './webhooks/deliveries/service.ts';
import { createWebhookRoutes } from './webhooks/routes.ts';
import { createWebhookManager } from './webhooks/service.ts';

/** What the rooms' routes are made of; each takes of it what it needs. */
export interface ApiDeps {
  config: Config;
  database: Database;
  log: Logger;
  keyring: Keyring;
  login: Login;
  tokens: SessionTokens;
  rateLimiter: RateLimiter;
  /** Tells the senders and the dispatcher of rows just committed. */
  waker: Waker;
}

/** The routes of account and brand, and what they share. */
export function createAccountRooms({ config, database, keyring }: ApiDeps): RouteDefinition[] {
  const { pool } = database;
  const images = createImageReferences(pool, createSignedIds(keyring));
  const brands = createBrandService({ pool, images });
  const present = (row: BrandRow, publicUrl: string) =>
    presentBrand(row, (accountId, reference) => {
      const signedId = images.show(accountId, reference);
      return signedId === null ? null : uploadUrl(publicUrl, signedId);
    });
  const mailDomain = config.MAIL_DOMAIN;
  const profile = createAccountProfile({ db: pool, images, mailDomain, capacity: capacitySettings(config) });
  return [
    ...createAccountRoutes({ profile, brands, images, presentBrand: present, mailDomain }),
    ...createBrandRoutes({ brands, presentBrand: present }),
  ];
}

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
