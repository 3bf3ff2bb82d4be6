import type { SmtpConnectionError } from './connection-error.ts';
import type { SmtpReply } from './reply-parser.ts';

/**
 * The delivery status notifications (RFC 3461) to request, if the server offers them. `failure`: for bounces, with the
 * header only; `success`: for deliveries, too; `off`: nothing is requested, and the server decides.
 */
export const requestedReports = ['failure', 'success', 'off'] as const;

export type RequestedReports = (typeof requestedReports)[number];

export interface SmtpTarget {
  /** A host name or an IP address. */
  host: string;
  port: number;
  /**
   * `implicit`: TLS from the first byte. `starttls`: STARTTLS is required. `opportunistic`: STARTTLS if the server
   * offers it. With TLS, the certificate is always verified.
   */
  security: 'implicit' | 'starttls' | 'opportunistic' | 'none';
  /** Sent with PLAIN if EHLO offers it, else with LOGIN. Never sent without TLS. */
  auth?: { user: string; pass: string };
  /** For tests: sends credentials in clear text if the server has a loopback address. */
  allowPlaintextAuth?: boolean;
  /** The name in EHLO: this machine's name, or an address literal. */
  clientName: string;
  /** `failure` by default. */
  reports?: RequestedReports;
  tls?: {
    /** PEM of the trusted certificate authorities, instead of the well-known ones. */
    ca?: string | Buffer;
    /** The name in the certificate; `host` by default. */
    servername?: string;
  };
  /** For the TCP connection, and again for the TLS handshake; 30 s by default. */
  connectTimeoutMs?: number;
  /** For each reply except the one to a message's final dot; 5 min by default. */
  replyTimeoutMs?: number;
  /** For the reply to a message's final dot; 10 min by default (RFC 5321 §4.5.3.2.6). */
  finalDotTimeoutMs?: number;
}

/** A message that is read while it is sent. Its lines are checked: each ends with CRLF, and none begins with a dot. */
export interface StreamedData {
  /** Bytes of all pieces. */
  readonly size: number;
  /** A line may begin with a dot, to which another is added on the way; absent: none does. */
  readonly mayHaveDots?: boolean;
  /**
   * The message in pieces of moderate size. The next is read after the previous one has left the process.
   * @throws Error if it cannot be read; then the server gets no final dot
   */
  pieces(): Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

export interface SmtpSubmission {
  /** The envelope sender, a bare address; empty for the null return path. */
  from: string;
  /** The envelope recipient, a bare address. */
  to: string;
  /** Whether SMTPUTF8 (RFC 6531) is needed, because an address or a header contains UTF-8. */
  smtpUtf8: boolean;
  /** The reports to request, and the id that they return. Ignored if the server does not offer DSN. */
  reports?: { kind: RequestedReports; envelopeId: string };
  /** Whether BODY=8BITMIME (RFC 6152) is needed, because the message has bytes over 127. */
  eightBit: boolean;
  /**
   * The complete message (RFC 5322) with CRLF line ends, not dot-stuffed. Must not change until the outcome is known. A
   * string has Latin-1 characters, and lines that the caller has checked: each ends with CRLF, none begins with a dot.
   */
  data: Uint8Array | string | StreamedData;
}

/** The outcome of one submission. */
export type SmtpOutcome =
  | { kind: 'accepted'; reply: SmtpReply }
  /**
   * A verdict on this message, 4xx or 5xx. `connectionLost`: the connection ended with it, or before all its replies.
   */
  | { kind: 'refused'; stage: 'mail' | 'rcpt' | 'data' | 'body'; reply: SmtpReply; connectionLost: boolean }
  /** The server does not offer what this message needs; nothing was sent. */
  | { kind: 'unsupported'; capability: 'smtputf8' | '8bitmime' | 'size'; message: string }
  /**
   * Certainly not handed over. An `SmtpInputError` means that this submission can never be written. `inTransfer`: the
   * connection ended between this message's MAIL and its final dot, so this message may be why. It is why if it could
   * not be read to its end.
   */
  | { kind: 'not_sent'; error: SmtpConnectionError; inTransfer?: true }
  /** `leave` was called before the body of this message: certainly not handed over. */
  | { kind: 'left' }
  /** The final dot was written, but no reply came: the server may or may not have the message. */
  | { kind: 'ambiguous'; error: SmtpConnectionError };

/** The capabilities that EHLO offered. */
export interface SmtpCapabilities {
  pipelining: boolean;
  /** Maximum bytes of a message (RFC 1870); 0 if the server names no limit, null if it does not support SIZE. */
  size: number | null;
  smtpUtf8: boolean;
  eightBitMime: boolean;
  dsn: boolean;
}

/** A connection after greeting, TLS and authentication. */
export interface SmtpConnection {
  /**
   * Hands over one message. May be called many times without awaiting: messages are sent in order, pipelined if the
   * server allows. Never rejects.
   */
  send(submission: SmtpSubmission): Promise<SmtpOutcome>;
  /** Number of submissions without an outcome yet. */
  readonly pending: number;
  /** Whether `send` can still succeed. */
  readonly open: boolean;
  readonly capabilities: SmtpCapabilities;
  /** Finishes what is pending, sends QUIT, and resolves when the connection is closed, at most 5 s after the QUIT. */
  quit(): Promise<void>;
  /**
   * Finishes only the message whose 354 has arrived, if there is one, and closes the connection. All other submissions
   * are `left` when this returns, unless the server has refused them already.
   */
  leave(): void;
  /** Closes the connection at once. Pending submissions become `not_sent` or `ambiguous`. */
  destroy(): void;
  /** Calls the listener once, with the error that ended the connection, or null after `quit` or `destroy`. */
  onClose(listener: (error: SmtpConnectionError | null) => void): void;
}
