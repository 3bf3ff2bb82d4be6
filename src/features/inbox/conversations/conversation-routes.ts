import type pg from 'pg';
import { z } from 'zod';
import { pageOf } from '../../../platform/db/paging.ts';
import { paginate } from '../../../platform/http/pagination.ts';
import type { LargeLists } from '../../../platform/http/large-lists.ts';
import { defineRoute, type RouteDefinition } from '../../../platform/http/route.ts';
import type { HtmlSanitizer } from './html/sanitizer.ts';
import {
  changeConversationBody,
  conversationMessageSchema,
  conversationParams,
  conversationReadOnlyFields,
  conversationSchema,
  listConversationsQuery,
  listMessagesQuery,
  messageParams,
  messagesParams,
} from './schema.ts';
import {
  changeConversation,
  getConversation,
  getMessage,
  listConversations,
  listMessages,
  markConversation,
  presentMessages,
} from './service.ts';

export interface ConversationRouteParts {
  pool: pg.Pool;
  sanitizer: Pick<HtmlSanitizer, 'sanitize'>;
  largeLists: LargeLists;
}

export const CONVERSATIONS = '/v1/my/conversations';
export const tag = 'Conversations';

function listRoute({ pool }: ConversationRouteParts): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: CONVERSATIONS,
    operationId: 'listConversations',
    tag,
    summary: 'List conversations, the one with the newest message first',
    auth: 'brand',
    testKeys: 'refused',
    assistants: { mail: 'always' },
    query: listConversationsQuery,
    paginated: true,
    responses: { 200: { description: 'A page of conversations.', schema: z.array(conversationSchema) } },
    async handler(input) {
      const page = pageOf(input.query);
      const { conversations, count } = await listConversations(pool, input.tenant, input.query, page);
      return paginate(input, page, conversations, count, 'page');
    },
  });
}

function showRoute({ pool }: ConversationRouteParts): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${CONVERSATIONS}/:id`,
    operationId: 'getConversation',
    tag,
    summary: 'Get a conversation',
    auth: 'brand',
    testKeys: 'refused',
    assistants: { mail: 'always' },
    params: conversationParams,
    responses: { 200: { description: 'The conversation.', schema: conversationSchema } },
    async handler({ tenant, params }) {
      return { status: 200, body: await getConversation(pool, tenant, params.id) };
    },
  });
}

function changeRoute({ pool }: ConversationRouteParts): RouteDefinition {
  return defineRoute({
    method: 'PATCH',
    path: `${CONVERSATIONS}/:id`,
    operationId: 'changeConversation',
    tag,
    summary: 'Open, close or assign a conversation',
    description: 'A closed conversation opens again when mail arrives in it.',
    auth: 'brand',
    testKeys: 'refused',
    assistants: { mail: 'always' },
    params: conversationParams,
    body: changeConversationBody,
    readOnlyFields: conversationReadOnlyFields,
    responses: { 200: { description: 'The changed conversation.', schema: conversationSchema } },
    async handler({ tenant, params, body }) {
      return { status: 200, body: await changeConversation(pool, tenant, params.id, body) };
    },
  });
}

function markRoute({ pool }: ConversationRouteParts, mark: 'read' | 'unread'): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: `${CONVERSATIONS}/:id/${mark}`,
    operationId: mark === 'read' ? 'markConversationRead' : 'markConversationUnread',
    tag,
    summary: `Mark a conversation as ${mark}`,
    description: `Sets \`unread_count\` to ${mark === 'read' ? 0 : 1}.`,
    auth: 'brand',
    testKeys: 'refused',
    idempotency: 'none',
    assistants: { mail: 'always' },
    params: conversationParams,
    responses: { 200: { description: 'The changed conversation.', schema: conversationSchema } },
    async handler({ tenant, params }) {
      return { status: 200, body: await markConversation(pool, tenant, params.id, mark) };
    },
  });
}

function listMessagesRoute({ pool, sanitizer, largeLists }: ConversationRouteParts): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${CONVERSATIONS}/:conversation_id/messages`,
    operationId: 'listConversationMessages',
    tag,
    summary: 'List the messages of a conversation, newest first',
    auth: 'brand',
    testKeys: 'refused',
    assistants: { mail: 'always' },
    params: messagesParams,
    query: listMessagesQuery,
    paginated: true,
    responses: { 200: { description: 'A page of messages.', schema: z.array(conversationMessageSchema) } },
    errors: ['unavailable'],
    async handler(input) {
      const { tenant, params, query } = input;
      const page = pageOf(query);
      const { items, count } = await listMessages(pool, tenant, params.conversation_id, page);
      return largeLists.reply(input, page, items, count, (ids) =>
        presentMessages({ db: pool, sanitizer }, tenant, ids),
      );
    },
  });
}

function showMessageRoute({ pool, sanitizer }: ConversationRouteParts): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${CONVERSATIONS}/:conversation_id/messages/:id`,
    operationId: 'getConversationMessage',
    tag,
    summary: 'Get a message of a conversation',
    auth: 'brand',
    testKeys: 'refused',
    assistants: { mail: 'always' },
    params: messageParams,
    responses: { 200: { description: 'The message.', schema: conversationMessageSchema } },
    errors: ['unavailable'],
    async handler({ tenant, params: { conversation_id: conversationId, id } }) {
      return { status: 200, body: await getMessage({ db: pool, sanitizer }, tenant, conversationId, id) };
    },
  });
}

/** `/v1/my/conversations` and the messages of each, without those routes that write messages or read files. */
export function createConversationRoutes(parts: ConversationRouteParts): RouteDefinition[] {
  return [
    listRoute(parts),
    showRoute(parts),
    changeRoute(parts),
    markRoute(parts, 'read'),
    markRoute(parts, 'unread'),
    listMessagesRoute(parts),
    showMessageRoute(parts),
  ];
}
