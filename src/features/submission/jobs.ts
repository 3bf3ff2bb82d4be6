/** What the threads that read submitted mail receive and return. */
import type { ReadFile } from '../attachments/service.ts';
import type { SubmittedFields } from './fields.ts';

export interface ReadJob {
  /** CARILLON_HOME, whose blobs the threads read and write. */
  home: string;
  accountId: number;
  /** The mail; null: `blobKey` names it. */
  bytes: Uint8Array | null;
  blobKey: string | null;
  /** Of the mail, in bytes. */
  size: number;
  /** Extensions of files that are refused. */
  blocked: ReadonlySet<string>;
  /** Maximum size of the files of a mail that is rebuilt, together. */
  maxFileBytes: number;
}

/** A file, whose bytes the thread has stored if they are many. */
export type SubmittedFile = Omit<ReadFile, 'sha256'> & { sha256: Uint8Array };

export type SubmittedContent =
  | {
      kind: 'rebuilt';
      text: string | null;
      html: string | null;
      files: SubmittedFile[];
      /** As of the shape. */
      leftOut: string[];
    }
  | {
      kind: 'opaque';
      /** What of it cannot be rebuilt. */
      reason: string;
      /** The fields that describe the body, as they are in the mail, with the breaks of their lines. */
      fields: [name: string, value: string][];
      body: SubmittedFile;
    };

/** A mail that was read. */
export interface SubmittedParts {
  fields: SubmittedFields;
  content: SubmittedContent;
}

/** `refused`: why the mail is not sent. `failed`: why it cannot be read now. */
export type ReadReply = { parts: SubmittedParts } | { refused: string } | { failed: string };
