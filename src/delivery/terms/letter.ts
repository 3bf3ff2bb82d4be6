/**
 * Letters: emails with files, or with copies for several recipients. Each copy is a message with its own id, status and
 * envelope; what the copies share is stored once, as their letter, whose id is that of its first message.
 */

/** Where a recipient stands in a letter. Those of `bcc` are in no header. */
export const recipientKinds = ['to', 'cc', 'bcc'] as const;
export type RecipientKind = (typeof recipientKinds)[number];

export const dispositions = ['attachment', 'inline'] as const;
export type Disposition = (typeof dispositions)[number];

/** A file as a letter has it. */
export interface AttachmentFields {
  filename: string;
  /** With its parameters, such as `text/calendar; method=REQUEST`. */
  contentType: string;
  /** How the HTML names it after `cid:`; without angle brackets. */
  contentId: string | null;
  disposition: Disposition;
  /** Bytes, not folded. */
  size: number;
}

/** A file of a letter that is sent. */
export interface LetterFile extends AttachmentFields {
  /** The position in the letter, from 1. */
  n: number;
  /** Of the bytes, not folded, in hexadecimal digits. */
  sha256: string;
  /** Where the storage has it, folded; null: it has been removed. */
  storageKey: string | null;
}

/** What a letter adds to each of its copies. */
export interface LetterPart {
  id: number;
  /** Several addresses for replies; null: the message has at most one. */
  replyTo: string[] | null;
  /** Who stands in the header, in this order. Erased recipients are left out. */
  recipients: { kind: Exclude<RecipientKind, 'bcc'>; address: string }[];
  files: LetterFile[];
}
