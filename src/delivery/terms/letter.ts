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
  /** The position in the letter, from 1; 0: the body of an opaque letter. */
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
  /** Of an opaque letter: its body alone, with the number 0. */
  files: LetterFile[];
  /** The fields of a body that passes as it is; null: the letter is built. */
  opaque?: { fields: [name: string, value: string][] } | null;
}

/**
 * SQL: the copy of a letter that went to an address, also when the letter is gone with its content. The ids of the copies
 * follow that of the letter, so it is found among the next messages to the address.
 * @param letter SQL of its id; likewise the brand and the key of the address
 */
export const copyToSql = (letter: string, brand: string, key: string): string => `
  select n.id, n.to_key, n.idempotency_key, n.tags
  from (
    select * from messages m
    where m.brand_id = ${brand} and m.to_key = ${key} and m.id between ${letter} and (${letter} | 4294967295)
    order by m.id limit 200
  ) n
  where n.letter_id = ${letter} limit 1`;
