import type { Database } from '../../../platform/db/database.ts';
import type { LargeLists } from '../../../platform/http/large-lists.ts';
import type { RouteDefinition } from '../../../platform/http/route.ts';
import { createConversationRoutes } from './conversation-routes.ts';
import type { HtmlSanitizer } from './html/sanitizer.ts';

export interface ConversationsRouteDeps {
  database: Database;
  htmlSanitizer: HtmlSanitizer;
  largeLists: LargeLists;
}

/** `/v1/my/conversations` and everything below, and `/v1/my/inbox_quarantine`. */
export function createConversationsRoutes(deps: ConversationsRouteDeps): RouteDefinition[] {
  const { database, htmlSanitizer: sanitizer, largeLists } = deps;
  return createConversationRoutes({ pool: database.pool, sanitizer, largeLists });
}
