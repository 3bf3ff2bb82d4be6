import type { ReferencedMessage } from '../../terms/addresses/reference.ts';

/** Maximum size of a message that arrives. */
export const MAX_MAIL_BYTES = 25 * 1024 * 1024;

/** An inbox that accepts mail. */
export interface Inbox {
  id: number;
  accountId: number;
  brandId: number;
  /** Without the tag that an address may have to which mail was sent. */
  address: string;
}

/**
 * The reply to `RCPT TO`: an inbox, or a refusal whose text begins with the enhanced status code (RFC 3463). After a 451
 * or 452, the sender should try again.
 */
export type InboxLookup =
  ({ kind: 'inbox' } & Inbox) | { kind: 'refused'; status: 550 | 452 | 451; text: string };

/** An inbox that a mail was sent to. */
export interface InboxTarget {
  inbox: Inbox;
  /** The address that the mail was sent to, which may have a tag; for a return path, the address of the inbox. */
  recipient: string;
  /** The mail was sent to the return path of this message; null: to the inbox. */
  answersMessageId: number | null;
  /** A mail server wrote it, and it is no report that Carillon understands: it says nothing about a contact. */
  isReport: boolean;
}

/** A mail to one or more inboxes, while it arrives. */
export interface MailForInboxes {
  source: 'smtp' | 'http';
  /** Empty for the null return path. */
  envelopeFrom: string;
  /** Null: not known. */
  ip: string | null;
  helo: string | null;
  targets: readonly InboxTarget[];
  /** The message: all of it, or a stream that is stored no faster than the disk can write. */
  content: Buffer | AsyncIterable<Buffer>;
}

/** The inboxes of all accounts. They are a feature, which this folder does not import, so the listener is given them. */
export interface Inboxes {
  /** @throws the database's error */
  resolve(address: string): Promise<InboxLookup>;
  /**
   * Finds the inbox to which people reply who received a message: one of its brand, with the address in its Reply-To or
   * From field.
   * @returns null if there is none, or it accepts no mail
   * @throws the database's error
   */
  ofMessage(message: ReferencedMessage): Promise<Inbox | null>;
  /**
   * Stores a mail. Once this resolves, it is committed for each of the inboxes.
   * @throws AccountFull if an account has no room for it; any other error if the storage or the database is unavailable.
   *   Then it is stored for none of the inboxes, unless the connection was lost during the commit
   */
  accept(mail: MailForInboxes): Promise<void>;
}

/** The mail of an account has reached its quota. */
export class AccountFull extends Error {
  constructor() {
    super('the account has no room for the mail');
  }
}
