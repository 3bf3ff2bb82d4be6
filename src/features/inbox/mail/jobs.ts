/** What the threads that read mail receive and return. */
import type { DnsAnswer, DnsQuestion } from '../../../platform/dns/answers.ts';
import type { AcceptedMail, MailAuthentication, ReadMail } from './mail.ts';

/** What the thread works on at the moment, in the shared number of a job. */
export const stages = { loading: 0, parsing: 1, storing: 2 } as const;

/**
 * `contents` parses and authenticates the whole mail and stores its attachments; `header` reads only the header; `spf`
 * finds out which records SPF needs; `authentication` authenticates once more, with more answers.
 */
export type JobPart = 'contents' | 'header' | 'spf' | 'authentication';

export interface ReadJob {
  part: JobPart;
  mail: AcceptedMail;
  /** CARILLON_HOME. */
  home: string;
  /** The address in From, if it is known already. */
  senderKey: string | null;
  /** What the name servers answered to the questions of this mail. */
  answers: [DnsQuestion, DnsAnswer][];
  /** The time for questions is over: what is unknown is a temporary failure. */
  last: boolean;
  /** One Int32: a value of {@link stages}. */
  stage: Int32Array<SharedArrayBuffer>;
}

/** What the header says. */
export type ReadHeader = Pick<
  ReadMail,
  | 'internetId'
  | 'referenceIds'
  | 'from'
  | 'senderKey'
  | 'to'
  | 'cc'
  | 'replyTo'
  | 'date'
  | 'subject'
  | 'autoSubmitted'
>;

/** What the body says. */
export type ReadBody = Pick<ReadMail, 'text' | 'html' | 'truncated' | 'attachments'>;

export interface AuthenticationReply {
  authentication: MailAuthentication;
  /** Questions to the name servers. If there are any, `authentication` is not final. */
  unknown: DnsQuestion[];
}

export interface ReadContents extends AuthenticationReply {
  header: ReadHeader;
  /** Null if the mail cannot be parsed, or only the header was asked for. */
  body: ReadBody | null;
  digest: Uint8Array | null;
  /** Why the mail cannot be parsed. */
  unreadable: string | null;
  /** What is suspicious about the mail itself. */
  spam: string | null;
}

/** The reply to each part. */
export interface Replies {
  contents: ReadContents;
  header: ReadContents;
  spf: AuthenticationReply;
  authentication: AuthenticationReply;
}

/** `failed`: the storage failed, which says nothing about the mail. */
export type ReadReply = Replies[JobPart] | { failed: string };
