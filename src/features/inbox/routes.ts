import type { RouteDefinition } from '../../platform/http/route.ts';
import { type ConversationsRouteDeps, createConversationsRoutes } from './conversations/routes.ts';

export type InboxRouteDeps = ConversationsRouteDeps;

/** The routes of inboxes and of what arrives in them. */
export function createInboxRoutes(deps: InboxRouteDeps): RouteDefinition[] {
  return createConversationsRoutes(deps);
}
