/** The entry for other features, the roles and the command. */
export { type RefusedAddress, type ResolvedInbox, resolveInboxAddress } from './inboxes/resolve.ts';
export { allowInboxes, type ListedInbox, listAllInboxes, replaceInboundToken } from './inboxes/operators.ts';
