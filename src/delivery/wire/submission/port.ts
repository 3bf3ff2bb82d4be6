import type { Tenant } from '../../../platform/auth/tenant.ts';
import type { EmailAddress } from '../../terms/addresses/email.ts';

/** The bytes of a mail, complete, with dots unstuffed. They are gone once {@link Submit} has settled. */
export interface SpooledMail {
  /** In bytes. */
  size: number;
  /** All of them if the mail is small; otherwise null. */
  bytes: Buffer | null;
  /** The key of the blob (kind `submissions`) if the mail is not small; otherwise null. Exactly one of both is set. */
  blobKey: string | null;
  /** Reads the mail from its beginning. May be called several times. */
  read(): AsyncIterable<Buffer>;
  /**
   * SHA-256 of the mail without its trace fields (Received, Return-Path, Delivered-To, X-Original-To): a mail that is
   * submitted again through other servers has the same.
   */
  digest: Buffer;
  /** Whether it has bytes above 127. */
  eightBit: boolean;
  /** The number of the first line with more than 998 bytes, which servers may refuse; null: none. */
  longLine: number | null;
}

/** A mail that a program submits, whose lines are well-formed and which its rate limit allows. */
export interface SubmittedMail {
  /** The brand of the key that has logged in, with the key as actor: as it was at `MAIL FROM`. */
  tenant: Tenant;
  /** The address of `MAIL FROM`, as the client wrote it; never empty. Carillon sends with its own return path instead. */
  from: string;
  /** The addresses of `RCPT TO`, in order, each once by its `key`. At least one, and at most 100. */
  recipients: readonly EmailAddress[];
  /** Whether `MAIL FROM` said `SMTPUTF8`: the header may have addresses in UTF-8. */
  smtpUtf8: boolean;
  mail: SpooledMail;
}

/**
 * Accepts a mail. Once this resolves, all of it is committed.
 * @returns the text of the reply `250`, beginning with its enhanced status code: `2.0.0 queued as 1017`
 * @throws SubmissionRefusal; AppError, which `replies.ts` translates; any other error is a 451, and logged
 */
export type Submit = (mail: SubmittedMail) => Promise<{ reply: string }>;

/** Why a mail, a recipient or a login is refused, as an SMTP reply. */
export class SubmissionRefusal extends Error {
  /** The name under which smtp-server looks for it. */
  readonly responseCode: number;
  /** Such as `5.6.0`. */
  readonly enhancedCode: string;

  /**
   * @param text what is wrong and what to do, in one line; `replies.ts` cuts it to the length of a reply
   * @param options `cause` is private, and only logged
   */
  constructor(responseCode: number, enhancedCode: string, text: string, options: { cause?: unknown } = {}) {
    super(`${enhancedCode} ${text}`, options);
    this.name = 'SubmissionRefusal';
    this.responseCode = responseCode;
    this.enhancedCode = enhancedCode;
  }
}
