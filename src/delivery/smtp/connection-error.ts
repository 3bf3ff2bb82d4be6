import type { SmtpReply } from './reply-parser.ts';

/** How far a connection had come; `idle` is between messages. */
export type SmtpStage =
  'connect' | 'banner' | 'ehlo' | 'starttls' | 'auth' | 'mail' | 'rcpt' | 'data' | 'body' | 'idle';

interface ConnectionErrorDetail {
  /** The reply that ended the connection, where it was one. */
  reply?: SmtpReply;
  cause?: unknown;
  /** The server broke the protocol: earlier replies may have been taken for answers to other commands. */
  violation?: boolean;
}

/** The connection could not be made, or has ended. Says nothing about any message. */
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
 * What the caller gave can never be written to an SMTP connection: a line end in an address, a bare CR or LF in a
 * message. A mistake in the program, found before anything is written; sending it again finds it again.
 */
export class SmtpInputError extends SmtpConnectionError {
  override readonly name = 'SmtpInputError';
}
