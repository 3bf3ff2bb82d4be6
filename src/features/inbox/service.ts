/** The entry for other features, the roles and the command. */
export { type RefusedAddress, type ResolvedInbox, resolveInboxAddress } from './inboxes/resolve.ts';
