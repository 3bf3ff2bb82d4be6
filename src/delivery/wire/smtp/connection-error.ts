import type { SmtpReply } from './reply-parser.ts';

/** The stage of a connection; `idle` is between messages. */
export type SmtpStage =
  'connect' | 'banner' | 'ehlo' | 'starttls' | 'auth' | 'mail' | 'rcpt' | 'data' | 'body' | 'idle';

interface ConnectionErrorDetail {
  /** The reply that ended the connection, if a reply did. */
  reply?: SmtpReply;
  cause?: unknown;
  /** The server broke the protocol: earlier replies may have been matched with the wrong commands. */
  violation?: boolean;
}

/** The connection failed or ended. This says nothing about any message. */
export class SmtpConnectionError extends Error {
  override readonly name: string = 'SmtpConnectionError';
  readonly stage: SmtpStage;
  readonly reply?: SmtpReply;
  readonly violation: boolean;

  constructor(stage: SmtpStage, message: string, detail: ConnectionErrorDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.stage = stage;
    this.violation = detail.violation ?? false;
    if (detail.reply) this.reply = detail.reply;
  }
}

/**
 * The input must not be written to an SMTP connection: for example, an address has a line end, or a message has a bare
 * CR or LF. This is a bug in the caller, detected before anything is written. Retrying does not help.
 */
export class SmtpInputError extends SmtpConnectionError {
  override readonly name = 'SmtpInputError';
}
