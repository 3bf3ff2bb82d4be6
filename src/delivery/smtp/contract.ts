import type { SmtpConnectionError } from './connection-error.ts';
import type { SmtpReply } from './reply-parser.ts';

export interface SmtpTarget {
  /** A name or an address. */
  host: string;
  port: number;
  /**
   * `implicit`: TLS from the first byte. `starttls`: required. `opportunistic`: STARTTLS where the server offers it.
   * The certificate is verified wherever there is TLS.
   */
  security: 'implicit' | 'starttls' | 'opportunistic' | 'none';
  /** PLAIN is used where EHLO offers it, else LOGIN. Never sent without TLS. */
  auth?: { user: string; pass: string };
  /** For tests: send credentials in clear if the server's address is a loopback one. */
  allowPlaintextAuth?: boolean;
  /** What EHLO says: this machine's name, or an address literal. */
  clientName: string;
  tls?: {
    /** PEM of the only authorities trusted, instead of the well-known ones. */
    ca?: string | Buffer;
    /** The name that the certificate must be for; `host` by default. */
    servername?: string;
  };
  /** For the TCP connection, and again for the TLS handshake; 30 s by default. */
  connectTimeoutMs?: number;
  /** For each reply but the one to a message's final dot; 5 min by default. */
  replyTimeoutMs?: number;
  /** For the reply to a message's final dot; 10 min by default (RFC 5321 §4.5.3.2.6). */
  finalDotTimeoutMs?: number;
}

export interface SmtpSubmission {
  /** The envelope's sender, a bare address; empty for the null return path. */
  from: string;
  /** The envelope's recipient, a bare address. */
  to: string;
  /** SMTPUTF8 (RFC 6531) is needed: UTF-8 in an address or a header. */
  smtpUtf8: boolean;
  /** The message holds bytes over 127, so BODY=8BITMIME (RFC 6152) is needed. */
  eightBit: boolean;
  /** The complete message (RFC 5322) with CRLF line ends, not dot-stuffed. Must not change until the outcome is known. */
  data: Uint8Array;
}

/** What became of one submission. */
export type SmtpOutcome =
  | { kind: 'accepted'; reply: SmtpReply }
  /** A verdict about this message, 4xx or 5xx. `connectionLost`: the connection ended with it, or before its replies were all there. */
  | { kind: 'refused'; stage: 'mail' | 'rcpt' | 'data' | 'body'; reply: SmtpReply; connectionLost: boolean }
  /** The server does not offer what this message needs; nothing was sent. */
  | { kind: 'unsupported'; capability: 'smtputf8' | '8bitmime' | 'size'; message: string }
  /** Certainly not handed over. An `SmtpInputError` says that the submission itself can never be written. */
  | { kind: 'not_sent'; error: SmtpConnectionError }
  /** The final dot was written and no reply came: it may or may not have been handed over. */
  | { kind: 'ambiguous'; error: SmtpConnectionError };

/** What EHLO offered. */
export interface SmtpCapabilities {
  pipelining: boolean;
  /** Bytes a message may have (RFC 1870); 0 where the server names no limit, null where it does not know SIZE. */
  size: number | null;
  smtpUtf8: boolean;
  eightBitMime: boolean;
  dsn: boolean;
}

/** A connection that has been greeted, secured and authenticated. */
export interface SmtpConnection {
  /** Hand over one message. May be called many times without awaiting: messages go in order, pipelined where the server allows. Never rejects. */
  send(submission: SmtpSubmission): Promise<SmtpOutcome>;
  /** Submissions without an outcome yet. */
  readonly pending: number;
  /** Whether `send` can still succeed. */
  readonly open: boolean;
  readonly capabilities: SmtpCapabilities;
  /** Finish what is pending, say QUIT, and resolve when the connection is closed, at most 5 s after the QUIT. */
  quit(): Promise<void>;
  /** Close at once. What is pending is `not_sent` or `ambiguous`. */
  destroy(): void;
  /** Called once, with the trouble that ended the connection, or null where `quit` or `destroy` did. */
  onClose(listener: (error: SmtpConnectionError | null) => void): void;
}
