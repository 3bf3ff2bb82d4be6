/** What the threads that read mail receive and return. */
import type { MailAttachment, MailAuthentication } from './mail.ts';

/** What the thread works on at the moment, in the shared number of a job. */
export const stages = { loading: 0, parsing: 1, storing: 2 } as const;

export interface ReadJob {
  /** `contents` parses the whole mail and stores its attachments; `header` reads only the header. */
  part: 'contents' | 'header';
  accountId: number;
  rawKey: string;
  /** Bytes. */
  size: number;
  /** CARILLON_HOME. */
  home: string;
  /** Empty for the null return path. */
  envelopeFrom: string;
  /** One Int32: a value of {@link stages}. */
  stage: Int32Array<SharedArrayBuffer>;
}

/** What the header says. */
export interface ReadHeader {
  internetId: string | null;
  referenceIds: string[];
  from: string;
  senderKey: string | null;
  to: string[];
  cc: string[];
  replyTo: string | null;
  subject: string | null;
  autoSubmitted: boolean;
}

/** What the body says. */
export interface ReadBody {
  text: string | null;
  html: string | null;
  truncated: boolean;
  attachments: MailAttachment[];
}

export interface ReadContents {
  header: ReadHeader;
  /** Null if the mail cannot be parsed, or only the header was asked for. */
  body: ReadBody | null;
  digest: Uint8Array;
  authentication: MailAuthentication;
  /** Why the mail cannot be parsed. */
  unreadable: string | null;
}

/** `failed`: the storage failed, which says nothing about the mail. */
export type ReadReply = ReadContents | { failed: string };
