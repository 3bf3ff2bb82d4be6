import type { AttachmentFields, RecipientKind } from '../../terms/letter.ts';

/** A file of a new letter. Its bytes are stored already, as a row of `attachment_files` says, unless it is of a test. */
export interface NewAttachment extends AttachmentFields {
  sha256: Buffer;
  /** False for test keys: the file is not stored. */
  stored: boolean;
}

/** A MIME body as a client wrote it. It is stored as a file, with the number 0. */
export interface OpaqueBody {
  /** The fields that describe it, such as Content-Type, in order and as they were. */
  fields: readonly (readonly [name: string, value: string])[];
  /** Bytes, not folded. */
  size: number;
  sha256: Buffer;
  /** False for test keys: the body is not stored. */
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
  /** Addresses in the header that have no copy. `place`: among all addresses of the header, from 1; see `places`. */
  addresses: readonly {
    kind: Exclude<RecipientKind, 'bcc'>;
    address: string;
    addressKey: string;
    place?: number;
  }[];
  /** Where each copy stands among all addresses of the header, from 1; undefined: before `addresses`, in their order. */
  places?: readonly number[] | undefined;
  /** A MIME body that passes byte for byte, in place of `html`, `text` and `files`; undefined: the letter is built. */
  opaque?: OpaqueBody | undefined;
}
