import type { Keyring } from '../../../platform/secrets/keyring.ts';
import type { ReferencedMessage } from '../../terms/addresses/reference.ts';
import { parseReturnPath } from '../../terms/addresses/return-path.ts';
import type { Inbox } from './inboxes.ts';

/** Mailboxes at MAIL_DOMAIN that receive mail for the operator: those of RFC 2142, and one for feedback loops. */
const mailboxes = ['fbl', 'abuse', 'postmaster'] as const;

export type OperatorMailbox = (typeof mailboxes)[number];

/** A recipient that is known by its address alone. */
type FixedRecipient =
  { kind: 'return_path'; message: ReferencedMessage } | { kind: 'mailbox'; name: OperatorMailbox };

/** The recipient of a mail. */
export type InboundRecipient = FixedRecipient | { kind: 'inbox'; inbox: Inbox };

/** All keys with which an address or a reference may have been created. */
export interface MailKeys {
  returnPaths: readonly Buffer[];
  references: readonly Buffer[];
}

export function mailKeys(keyring: Keyring): MailKeys {
  const keysFor = (purpose: 'return-path' | 'reference') => keyring.accepted(purpose).map(({ key }) => key);
  return { returnPaths: keysFor('return-path'), references: keysFor('reference') };
}

/**
 * Identifies the recipient of a mail to one of our addresses, other than an inbox.
 *
 * A return path is accepted at any host. Its MAC proves that it is genuine, and mail to hosts that do not point here
 * never arrives. So this needs no database query, and reports about a deleted domain are still accepted.
 * @param mailDomain `MAIL_DOMAIN`
 * @returns null if the address is none of these
 */
export function findRecipient(address: string, mailDomain: string, keys: MailKeys): FixedRecipient | null {
  const at = address.lastIndexOf('@');
  const local = address.slice(0, at === -1 ? undefined : at).toLowerCase();
  const message = parseReturnPath(keys.returnPaths, local);
  if (message !== null) return at === -1 ? null : { kind: 'return_path', message };
  const name = mailboxes.find((each) => each === local);
  // RFC 5321 §4.5.1: `postmaster` without a domain is that of this server.
  const isOurs =
    at === -1 ? name === 'postmaster' : address.slice(at + 1).toLowerCase() === mailDomain.toLowerCase();
  return name !== undefined && isOurs ? { kind: 'mailbox', name } : null;
}
