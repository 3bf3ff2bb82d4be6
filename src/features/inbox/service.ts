/** The entry for the command. */
export { allowInboxes, type ListedInbox, listAllInboxes, replaceInboundToken } from './inboxes/operators.ts';
