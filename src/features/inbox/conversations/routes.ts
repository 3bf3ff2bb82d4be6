import type { Config } from '../../../config.ts';
import { limitSettings } from '../../../delivery/ledger/limits/authority.ts';
import { createSenderIdentities } from '../../../delivery/terms/sender-identity.ts';
import { defaultEmailProvider } from '../../../delivery/wire/providers/settings-url.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Waker } from '../../../platform/db/wake.ts';
import type { EventPublisher } from '../../../platform/events/publish.ts';
import type { LargeLists } from '../../../platform/http/large-lists.ts';
import type { RouteDefinition } from '../../../platform/http/route.ts';
import type { Keyring } from '../../../platform/secrets/keyring.ts';
import { createHomeStore } from '../../../platform/storage/local-disk.ts';
import { createAttachments, type FileDecoder } from '../../attachments/service.ts';
import type { TrackedEventConsumer } from '../../contact-events/service.ts';
import { createAttachmentRoute, createRawMailRoute } from './attachment-routes.ts';
import { createConversationRoutes } from './conversation-routes.ts';
import { createDeletionRoutes } from './deletion-routes.ts';
import type { HtmlSanitizer } from './html/sanitizer.ts';
import { createQuarantineRoutes } from './quarantine-routes.ts';
import { createReplyRoute } from './reply-routes.ts';

export interface ConversationsRouteDeps {
  config: Config;
  database: Database;
  keyring: Keyring;
  waker: Waker;
  events: EventPublisher;
  trackedEventConsumers: readonly TrackedEventConsumer[];
  htmlSanitizer: HtmlSanitizer;
  largeLists: LargeLists;
  fileDecoder: FileDecoder;
}

/** `/v1/my/conversations` and everything below, and `/v1/my/inbox_quarantine`. */
export function createConversationsRoutes(deps: ConversationsRouteDeps): RouteDefinition[] {
  const { config, database, keyring, waker, events, htmlSanitizer: sanitizer, largeLists } = deps;
  const { pool } = database;
  const store = createHomeStore(config.CARILLON_HOME);
  const identities = createSenderIdentities(pool, config.MAIL_DOMAIN);
  const release = {
    hasScanner: config.CLAMD_URL !== undefined,
    events,
    waker,
    keyring,
    plusAddresses: config.SUPPRESS_PLUS_ADDRESSES,
    consumers: deps.trackedEventConsumers,
  };
  return [
    ...createConversationRoutes({ pool, sanitizer, largeLists }),
    ...createDeletionRoutes({ pool, sanitizer, largeLists }),
    createAttachmentRoute({ pool, store }),
    createRawMailRoute({ pool, store }),
    createReplyRoute({
      ...{ pool, identities, sanitizer, waker },
      limits: limitSettings(config),
      attachments: createAttachments(deps),
      emailProvider: defaultEmailProvider(config),
    }),
    ...createQuarantineRoutes({ pool, sanitizer, largeLists, release }),
  ];
}
