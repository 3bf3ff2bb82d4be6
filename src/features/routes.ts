import type pg from 'pg';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { ContentEngine } from '../delivery/content/templates/content.ts';
import type { FindCookieSession } from '../platform/auth/cookie-session.ts';
import type { OwnOrigin } from '../platform/auth/own-origin.ts';
import type { SessionIssuer } from '../platform/auth/session-issuer.ts';
import type { Database } from '../platform/db/database.ts';
import type { HeavyReads } from '../platform/processes/heavy-reads.ts';
import type { Waker } from '../platform/db/wake.ts';
import type { Resolver } from '../platform/dns/resolver.ts';
import type { Egress } from '../platform/egress/client.ts';
import type { EventPublisher } from '../platform/events/publish.ts';
import type { InnerRequests } from '../platform/http/inner-requests.ts';
import { createLargeLists } from '../platform/http/large-lists.ts';
import type { HttpMetrics } from '../platform/http/middlewares/metrics.ts';
import type { RateLimiter } from '../platform/http/rate-limiter.ts';
import type { RouteDefinition } from '../platform/http/route.ts';
import type { Description } from '../platform/openapi/routes.ts';
import type { Keyring } from '../platform/secrets/keyring.ts';
import { createAccountRoutes } from './accounts/routes.ts';
import { createApiKeyRoutes } from './api-keys/routes.ts';
import { createAttachmentRoutes } from './attachments/routes.ts';
import type { FileDecoder } from './attachments/service.ts';
import { createAuditRoutes } from './audit/routes.ts';
import { createBrandRoutes } from './brands/routes.ts';
import { createBulkActionRoutes } from './bulk-actions/routes.ts';
import { createCampaignRoutes } from './campaigns/routes.ts';
import { createCallbackRoutes } from './callbacks/routes.ts';
import { createContactRoutes } from './contacts/routes.ts';
import { createDraftRoutes } from './drafts/routes.ts';
import { createEventRoutes } from './contact-events/routes.ts';
import type { TrackedEventConsumer } from './contact-events/service.ts';
import { createDeliveryRoutes } from './delivery-status/routes.ts';
import { createDomainRoutes } from './domains/routes.ts';
import { createFlowRoutes, createTemplateOwners } from './flows/routes.ts';
import { createFlowDraftForm } from './flows/index.ts';
import { createInboxRoutes } from './inbox/routes.ts';
import { createListRoutes } from './lists/routes.ts';
import { createExportRoutes } from './exports/routes.ts';
import { createImportRoutes } from './imports/routes.ts';
import { createInvitationRoutes } from './invitations/routes.ts';
import type { HtmlSanitizer } from './inbox/conversations/html/sanitizer.ts';
import { createMcpRoutes } from './mcp/routes.ts';
import { createGrantRoutes } from './oauth/grant-routes.ts';
import { createChangeRoutes } from './messages/change-routes.ts';
import { createMessageRoutes } from './messages/routes.ts';
import { createSecondFactorRoutes } from './second-factor/routes.ts';
import { createSearchRoutes } from './search/routes.ts';
import { createPageRoutes } from './oauth/pages/routes.ts';
import { createOauthServer } from './oauth/routes.ts';
import { createPreviewRoutes } from './previews/routes.ts';
import { createSegmentRoutes } from './segments/routes.ts';
import { createStatsRoutes } from './stats/routes.ts';
import { createSuppressionRoutes } from './suppressions/routes.ts';
import { createUnsubscribeRoutes } from './unsubscribe/routes.ts';
import { createTemplateRoutes } from './templates/routes.ts';
import { createTrackingRoutes } from './tracking/routes.ts';
import { createUploadRoutes } from './uploads/routes.ts';
import { createMemberRoutes } from './users/member-routes.ts';
import { createOwnUserRoutes } from './users/own-routes.ts';
import { createOwnAccountsRoute } from './sessions/accounts-routes.ts';
import { createPasswordRoute } from './users/password-routes.ts';
import { createLoginRoutes } from './sessions/login-routes.ts';
import { createResetRoutes } from './users/reset-routes.ts';
import { createSessionRoutes } from './sessions/routes.ts';
import { createConfirmSession } from './sessions/confirm.ts';
import { createSignIn } from './sessions/sign-in.ts';
import type { PasswordChecks } from './users/service.ts';
import { createWalletRoutes } from './wallet/routes.ts';
import { createValidationRoutes } from './validation/routes.ts';
import { createWebhookRoutes } from './webhooks/routes.ts';

/** Everything that features build their routes from. Each feature declares the part it needs. */
export interface FeatureDeps extends PasswordChecks {
  config: Config;
  database: Database;
  /** For statements that read a large part of a brand's contacts. */
  heavyReads: HeavyReads;
  /** For statements that record small groups as they arrive: they are planned once, and find rows by key. */
  recordingPool: pg.Pool;
  log: Logger;
  keyring: Keyring;
  /** For DNS records of names that clients give. */
  resolver: Resolver;
  /** For requests to URLs that clients name. */
  egress: Egress;
  /** For websites that clients want to have scraped. */
  websites: Egress;
  /** Compiles and renders templates in threads. */
  contents: ContentEngine;
  /** Makes the HTML of mail harmless, in threads. */
  htmlSanitizer: HtmlSanitizer;
  /** Decodes files of messages, in threads. */
  fileDecoder: FileDecoder;
  /** Starts sessions of users. */
  sessions: SessionIssuer;
  /** Knows the users of pages. */
  findCookieSession: FindCookieSession;
  /** Where the service has pages, cookies and OAuth. */
  ownOrigin: OwnOrigin;
  /** Requests of assistants to routes. */
  innerRequests: InnerRequests;
  rateLimiter: RateLimiter;
  /** Notifies the senders and the outbox dispatcher of rows that were just committed. */
  waker: Waker;
  /** Publishes a feature's events inside its transaction. */
  events: EventPublisher;
  /** Acts on tracked events, in the transaction that writes them. */
  trackedEventConsumers: readonly TrackedEventConsumer[];
  /** The description of the API. */
  description: Description;
  /** Adds a counter to `/metrics`. */
  counter: HttpMetrics['counter'];
}

/**
 * Every route of every feature. A new feature adds one line here; OpenAPI, the tenancy tests and the metrics include it
 * automatically.
 */
export function createFeatureRoutes(deps: FeatureDeps): RouteDefinition[] {
  const largeLists = createLargeLists();
  const signIn = createSignIn(deps);
  const oauth = createOauthServer(deps);
  const routes = [
    ...createLoginRoutes({ ...deps, signIn }),
    ...createSessionRoutes(deps),
    createOwnAccountsRoute(deps),
    ...createOwnUserRoutes(deps),
    createPasswordRoute(deps),
    ...createMemberRoutes(deps),
    ...createResetRoutes(deps),
    ...createSecondFactorRoutes(deps),
    ...createInvitationRoutes(deps),
    ...createAccountRoutes(deps),
    ...createApiKeyRoutes(deps),
    ...createAuditRoutes(deps),
    ...createGrantRoutes(deps),
    ...createBrandRoutes(deps),
    ...createMessageRoutes(deps),
    ...createChangeRoutes(deps),
    ...createTemplateRoutes({ ...deps, largeLists, owners: createTemplateOwners(deps) }),
    ...createDeliveryRoutes(deps),
    ...createStatsRoutes(deps),
    ...createSearchRoutes(deps),
    ...createSegmentRoutes(deps),
    ...createDraftRoutes({ ...deps, draftForms: { flows: createFlowDraftForm(deps.keyring) } }),
    ...createSuppressionRoutes(deps),
    ...createContactRoutes(deps),
    ...createBulkActionRoutes(deps),
    ...createPreviewRoutes(deps),
    ...createListRoutes(deps),
    ...createEventRoutes(deps),
    ...createUnsubscribeRoutes(deps),
    ...createTrackingRoutes(deps),
    ...createUploadRoutes(deps),
    ...createAttachmentRoutes(deps),
    ...createExportRoutes(deps),
    ...createDomainRoutes(deps),
    ...createImportRoutes(deps),
    ...createValidationRoutes(deps),
    ...createCampaignRoutes({ ...deps, largeLists }),
    ...createFlowRoutes({ ...deps, largeLists }),
    ...createInboxRoutes({ ...deps, largeLists }),
    ...createCallbackRoutes(deps),
    ...createWalletRoutes(deps),
    ...createWebhookRoutes(deps),
    ...oauth.routes,
    ...createPageRoutes({
      ...deps,
      signIn,
      confirm: createConfirmSession(deps),
      interactions: oauth.interactions,
    }),
  ];
  return [...routes, ...createMcpRoutes(deps, routes)];
}
