import type { Config } from '../../../config.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { LargeLists } from '../../../platform/http/large-lists.ts';
import type { RouteDefinition } from '../../../platform/http/route.ts';
import { createHomeStore } from '../../../platform/storage/local-disk.ts';
import { createAttachmentRoute } from './attachment-routes.ts';
import { createConversationRoutes } from './conversation-routes.ts';
import type { HtmlSanitizer } from './html/sanitizer.ts';

export interface ConversationsRouteDeps {
  config: Pick<Config, 'CARILLON_HOME'>;
  database: Database;
  htmlSanitizer: HtmlSanitizer;
  largeLists: LargeLists;
}

/** `/v1/my/conversations` and everything below, and `/v1/my/inbox_quarantine`. */
export function createConversationsRoutes(deps: ConversationsRouteDeps): RouteDefinition[] {
  const { config, database, htmlSanitizer: sanitizer, largeLists } = deps;
  const { pool } = database;
  const store = createHomeStore(config.CARILLON_HOME);
  return [
    ...createConversationRoutes({ pool, sanitizer, largeLists }),
    createAttachmentRoute({ pool, store }),
  ];
}
