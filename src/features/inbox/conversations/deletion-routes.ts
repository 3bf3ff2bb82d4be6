import { inTransaction } from '../../../platform/db/queryable.ts';
import { defineRoute, type RouteDefinition } from '../../../platform/http/route.ts';
import { inboxRoles as roles } from '../inboxes/schema.ts';
import { CONVERSATIONS, type ConversationRouteParts, tag } from './conversation-routes.ts';
import { deleteConversation, deleteConversationMessage } from './deletion.ts';
import {
  conversationMessageSchema,
  conversationParams,
  conversationSchema,
  messageParams,
} from './schema.ts';
import { getMessage } from './service.ts';

const shared = {
  method: 'DELETE',
  tag,
  auth: 'brand',
  testKeys: 'refused',
  roles,
  audit: 'keys too',
  assistants: { mail: 'always' },
} as const;

function deleteRoute({ pool }: ConversationRouteParts): RouteDefinition {
  return defineRoute({
    ...shared,
    path: `${CONVERSATIONS}/:id`,
    operationId: 'deleteConversation',
    summary: 'Delete a conversation',
    description:
      'Deletes it with its messages, their attachments and the mail as it arrived. Messages that were sent from it stay ' +
      'in `GET /messages`. A copy of a deleted mail that is delivered again arrives again.',
    params: conversationParams,
    responses: { 200: { description: 'The deleted conversation.', schema: conversationSchema } },
    async handler({ tenant, params: { id } }) {
      return { status: 200, body: await inTransaction(pool, (trx) => deleteConversation(trx, tenant, id)) };
    },
  });
}

function deleteMessageRoute({ pool, sanitizer }: ConversationRouteParts): RouteDefinition {
  return defineRoute({
    ...shared,
    path: `${CONVERSATIONS}/:conversation_id/messages/:id`,
    operationId: 'deleteConversationMessage',
    summary: 'Delete a message of a conversation',
    description:
      'Deletes it with its attachments and the mail as it arrived, and the conversation with its last message. An outbound ' +
      'message is sent nevertheless, and stays in `GET /messages`.',
    params: messageParams,
    responses: { 200: { description: 'The deleted message.', schema: conversationMessageSchema } },
    errors: ['unavailable'],
    async handler({ tenant, params: { conversation_id: conversationId, id } }) {
      const body = await getMessage({ db: pool, sanitizer }, tenant, conversationId, id);
      await inTransaction(pool, (trx) => deleteConversationMessage(trx, tenant, conversationId, id));
      return { status: 200, body };
    },
  });
}

/** `DELETE` of conversations and their messages. */
export function createDeletionRoutes(parts: ConversationRouteParts): RouteDefinition[] {
  return [deleteRoute(parts), deleteMessageRoute(parts)];
}
