import type { AttachmentFields, RecipientKind } from '../../terms/letter.ts';

/** A file of a new letter. Its bytes are stored already, as a row of `attachment_files` says, unless it is of a test. */
export interface NewAttachment extends AttachmentFields {
  sha256: Buffer;
  /** False for test keys: the file is not stored. */
  stored: boolean;
}

/** What the copies of a new letter share. Its id is that of the first copy. */
export interface NewLetter {
  html: string | null;
  text: string | null;
  headers: Record<string, string> | null;
  /** Several addresses for replies; null: the messages say which. */
  replyTo: string[] | null;
  /** Upper bound of the size of the built message, with its files. */
  wireBytes: number;
  files: readonly NewAttachment[];
  /** Addresses in the header that have no copy. */
  addresses: readonly { kind: Exclude<RecipientKind, 'bcc'>; address: string; addressKey: string }[];
}
