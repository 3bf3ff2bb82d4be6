import type { RouteDefinition } from '../../platform/http/route.ts';
import { createInboxBlockRoutes, type InboxBlockRouteDeps } from './blocks/routes.ts';
import { type ConversationsRouteDeps, createConversationsRoutes } from './conversations/routes.ts';
import { createInboxAddressRoutes, type InboxAddressRouteDeps } from './inboxes/routes.ts';
import { createInboundRoutes, type InboundRouteDeps } from './receive/routes.ts';

export type InboxRouteDeps = InboundRouteDeps &
  InboxAddressRouteDeps &
  InboxBlockRouteDeps &
  ConversationsRouteDeps;

/** The routes of inboxes and of what arrives in them. */
export function createInboxRoutes(deps: InboxRouteDeps): RouteDefinition[] {
  return [
    ...createInboxAddressRoutes(deps),
    ...createInboxBlockRoutes(deps),
    ...createConversationsRoutes(deps),
    ...createInboundRoutes(deps),
  ];
}
