/** The entries for the command, and for bulk actions. */
export { allowInboxes, type ListedInbox, listAllInboxes, replaceInboundToken } from './inboxes/operators.ts';
export {
  type ConversationFilter,
  conversationFilter,
  lastConversationId,
  scanConversations,
} from './conversations/bulk-filter.ts';
export { deleteConversations, lockInboxesOfConversations } from './conversations/deletion.ts';
