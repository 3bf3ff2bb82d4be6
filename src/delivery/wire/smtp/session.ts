import { SmtpConnectionError, type SmtpStage } from './connection-error.ts';
import type {
  SmtpCapabilities,
  SmtpConnection,
  SmtpOutcome,
  SmtpSubmission,
  StreamedData,
} from './contract.ts';
import { createEnvelope, type Envelope } from './envelope.ts';
import { Fifo } from './fifo.ts';
import { inPieces, isStreamed, stuffDots, writeInPieces } from './message-data.ts';
import { Outgoing } from './outgoing.ts';
import type { SmtpReply } from './reply-parser.ts';
import { outcomeOfLost, type Transaction, type Verdict } from './transaction.ts';
import type { Wire, WireListener } from './wire.ts';

/** The next reply; null between messages. */
type Awaited = 'rset' | 'mail' | 'rcpt' | 'data' | 'body' | 'quit' | null;

export interface SessionTimeouts {
  replyMs: number;
  finalDotMs: number;
}

const DATA = 'DATA\r\n';
const FINAL_DOT = '.\r\n';
const QUIT_TIMEOUT_MS = 5_000;
/** Longer messages are written in pieces of this size. Each is written after the previous one has left the process. */
const PIECE_BYTES = 65_536;

/**
 * Sends messages over a connection after its handshake. At most two transactions are open at any time: the current one,
 * and one whose MAIL, RCPT and DATA were pipelined after the final dot of the current one (RFC 2920 §3.1). A body is
 * written only after its own 354, so at most one final dot has no reply yet.
 */
export class SmtpSession implements SmtpConnection, WireListener {
  readonly capabilities: SmtpCapabilities;
  readonly #wire: Wire;
  readonly #timeouts: SessionTimeouts;
  readonly #out: Outgoing;
  readonly #queue = new Fifo<Transaction>();
  readonly #closeListeners: ((error: SmtpConnectionError | null) => void)[] = [];
  #current: Transaction | null = null;
  #ahead: Transaction | null = null;
  #awaited: Awaited = null;
  /** 354 has arrived for the current transaction, and nothing of its body has been written. */
  #bodyDue = false;
  /** The current transaction's final dot has been written. */
  #dotWritten = false;
  /** Whether a refused transaction is still open at the server. */
  #resetOwed = false;
  #pumpScheduled = false;
  /** Nothing more is submitted. */
  #leaving = false;
  /** Nothing more is begun. */
  #left = false;
  /** The server has commands of a message that was given up. It may take what follows for the body of that message. */
  #abandoned = false;
  #closed: { error: SmtpConnectionError | null } | null = null;
  /** Whether this side is closing the connection, which is not an error. */
  #expectedEnd = false;

  constructor(wire: Wire, capabilities: SmtpCapabilities, timeouts: SessionTimeouts) {
    this.#wire = wire;
    this.#timeouts = timeouts;
    this.#out = new Outgoing(wire);
    this.capabilities = capabilities;
    wire.listen(this);
  }

  get open(): boolean {
    return this.#closed === null && !this.#leaving;
  }

  get pending(): number {
    return this.#queue.length + (this.#current ? 1 : 0) + (this.#ahead ? 1 : 0);
  }

  get stage(): SmtpStage {
    if (this.#awaited === null || this.#awaited === 'quit') return 'idle';
    return this.#awaited === 'rset' ? 'mail' : this.#awaited;
  }

  send(submission: SmtpSubmission): Promise<SmtpOutcome> {
    if (this.#left) return Promise.resolve({ kind: 'left' });
    if (!this.open) {
      const error = this.#closed?.error ?? new SmtpConnectionError('idle', 'the connection is closed');
      return Promise.resolve({ kind: 'not_sent', error });
    }
    const envelope = createEnvelope(submission, this.capabilities);
    if ('kind' in envelope) return Promise.resolve(envelope);
    return new Promise((resolve) => {
      this.#queue.push({ envelope, resolve, verdict: null });
      this.#schedulePump();
    });
  }

  quit(): Promise<void> {
    this.#leaving = true;
    this.#schedulePump();
    return new Promise((resolve) => this.onClose(() => resolve()));
  }

  leave(): void {
    if (this.#closed || this.#left) return;
    this.#leaving = true;
    this.#left = true;
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) next.resolve({ kind: 'left' });
    this.#abandonAhead();
    if (this.#current && this.#awaited !== 'body') this.#abandon(this.#current);
    else this.#schedulePump();
  }

  destroy(): void {
    this.#expectedEnd = true;
    this.#wire.fail('the connection was closed on this side');
  }

  onClose(listener: (error: SmtpConnectionError | null) => void): void {
    const closed = this.#closed;
    if (closed) queueMicrotask(() => listener(closed.error));
    else this.#closeListeners.push(listener);
  }

  reply(reply: SmtpReply): void {
    const current = this.#current;
    if (this.#awaited === 'quit') return this.destroy();
    if (!current) return this.#violation(reply);
    if (reply.code === 421) return this.#shutDown(current, reply);
    switch (this.#awaited) {
      case 'rset':
        return reply.code === 250 ? this.#enter('mail') : this.#wire.fail('RSET refused', { reply });
      case 'mail':
      case 'rcpt':
        return this.#onEnvelopeReply(current, this.#awaited, reply);
      case 'data':
        return this.#onDataReply(current, reply);
      default:
        return this.#onBodyReply(current, reply);
    }
  }

  settled(): void {
    this.#pump();
    if (this.#awaited === 'quit') return;
    if (this.#wire.owed === 0) this.#wire.expectNothing();
    else this.#expectReply();
  }

  ended(error: SmtpConnectionError): void {
    const reported = this.#expectedEnd || this.#awaited === 'quit' ? null : error;
    const [current, ahead] = [this.#current, this.#ahead];
    const progress = {
      // The reply to RSET belongs to the previous message.
      begun: this.#awaited !== 'rset',
      goAhead: this.#awaited === 'body',
      dotWritten: this.#dotWritten,
    };
    this.#current = null;
    this.#ahead = null;
    this.#closed = { error: reported };
    current?.resolve(outcomeOfLost(current.verdict, progress, error));
    // Its commands were sent with the final dot of the current message, and either may have ended the connection.
    ahead?.resolve({ kind: 'not_sent', error, inTransfer: true });
    for (let next = this.#queue.shift(); next; next = this.#queue.shift())
      next.resolve({ kind: 'not_sent', error });
    for (const listener of this.#closeListeners.splice(0)) listener(reported);
  }

  #abandonAhead(): void {
    if (!this.#ahead) return;
    this.#ahead.resolve({ kind: 'left' });
    this.#ahead = null;
    this.#abandoned = true;
  }

  /** Without its final dot, the server drops a message (RFC 5321 §4.1.1.4). */
  #abandon(current: Transaction): void {
    const { verdict } = current;
    this.#current = null;
    current.resolve(verdict ? { kind: 'refused', ...verdict, connectionLost: false } : { kind: 'left' });
    this.destroy();
  }

  #onEnvelopeReply(current: Transaction, stage: 'mail' | 'rcpt', reply: SmtpReply): void {
    if (reply.code >= 300 && reply.code < 400) return this.#violation(reply);
    if (reply.code >= 400) current.verdict ??= { stage, reply };
    // Without pipelining, nothing else of a refused transaction has been written.
    if (current.verdict && !this.capabilities.pipelining)
      return this.#finishRefused(current, current.verdict);
    this.#enter(stage === 'mail' ? 'rcpt' : 'data');
  }

  #onDataReply(current: Transaction, reply: SmtpReply): void {
    if (reply.code === 354) {
      this.#awaited = 'body';
      this.#bodyDue = true;
    } else if (reply.code >= 400) {
      this.#finishRefused(current, current.verdict ?? { stage: 'data', reply });
    } else {
      this.#violation(reply);
    }
  }

  #onBodyReply(current: Transaction, reply: SmtpReply): void {
    const { verdict } = current;
    if (reply.code >= 300 && reply.code < 400) return this.#violation(reply);
    if (!this.#dotWritten) return this.#onEarlyReply(current, reply);
    this.#dotWritten = false;
    if (verdict) return this.#finish(current, { kind: 'refused', ...verdict, connectionLost: false });
    if (reply.code < 300) return this.#finish(current, { kind: 'accepted', reply });
    this.#finish(current, { kind: 'refused', stage: 'body', reply, connectionLost: false });
  }

  /**
   * Handles a reply in the middle of a long message. A refusal concerns this message, but its other bytes are already
   * being sent.
   */
  #onEarlyReply(current: Transaction, reply: SmtpReply): void {
    if (reply.code < 400) return this.#violation(reply);
    current.verdict = { stage: 'body', reply };
    this.#wire.fail('the message was refused before its end', { reply });
  }

  #shutDown(current: Transaction, reply: SmtpReply): void {
    const stage = this.#awaited;
    if (stage !== null && stage !== 'rset' && stage !== 'quit') current.verdict ??= { stage, reply };
    this.#wire.fail('the server is closing the connection', { reply });
  }

  #violation(reply: SmtpReply): void {
    this.#wire.fail(`${reply.code} is not a valid reply to ${this.stage}`, { reply, violation: true });
  }

  #finishRefused(current: Transaction, verdict: Verdict): void {
    this.#resetOwed = true;
    this.#finish(current, { kind: 'refused', ...verdict, connectionLost: false });
  }

  #finish(current: Transaction, outcome: SmtpOutcome): void {
    this.#current = this.#ahead;
    this.#ahead = null;
    this.#awaited = this.#current ? 'mail' : null;
    current.resolve(outcome);
    if (this.#abandoned) this.destroy();
  }

  #schedulePump(): void {
    if (this.#pumpScheduled) return;
    this.#pumpScheduled = true;
    queueMicrotask(() => {
      this.#pumpScheduled = false;
      const wasIdle = this.#wire.owed === 0;
      this.#pump();
      if (wasIdle && this.#wire.owed > 0 && this.#awaited !== 'quit') this.#expectReply();
    });
  }

  #expectReply(): void {
    const { finalDotMs, replyMs } = this.#timeouts;
    this.#wire.expectWithin(this.#awaited === 'body' && this.#dotWritten ? finalDotMs : replyMs);
  }

  /** Writes everything that may be written now, in one write. */
  #pump(): void {
    if (this.#closed) return;
    if (this.#bodyDue) return this.#writeBody();
    if (!this.#current) this.#begin();
    else if (this.#dotWritten) this.#pipelineNext();
    this.#out.flush();
  }

  /** Begins the next message, or QUIT. No transaction is open. */
  #begin(): void {
    this.#current = this.#queue.shift() ?? null;
    if (this.#current) {
      const reset = this.#resetOwed;
      this.#resetOwed = false;
      this.#awaited = reset ? 'rset' : 'mail';
      if (reset) this.#out.add('RSET\r\n', 1);
      if (this.capabilities.pipelining) this.#pipeline(this.#current.envelope);
      else if (!reset) this.#out.add(this.#current.envelope.mail, 1);
    } else if (this.#leaving && this.#awaited === null) {
      this.#awaited = 'quit';
      this.#out.add('QUIT\r\n', 1);
      this.#wire.expectWithin(QUIT_TIMEOUT_MS);
    }
  }

  #pipelineNext(): void {
    if (!this.capabilities.pipelining || this.#ahead) return;
    this.#ahead = this.#queue.shift() ?? null;
    if (this.#ahead) this.#pipeline(this.#ahead.envelope);
  }

  #pipeline({ mail, rcpt }: Envelope): void {
    this.#out.add(mail + rcpt + DATA, 3);
  }

  /** Waits for this reply next. Without pipelining, writes its command. */
  #enter(stage: 'mail' | 'rcpt' | 'data'): void {
    this.#awaited = stage;
    const envelope = this.#current?.envelope;
    if (this.capabilities.pipelining || !envelope) return;
    this.#out.add(stage === 'data' ? DATA : envelope[stage], 1);
  }

  #writeBody(): void {
    const current = this.#current;
    if (!current) return;
    this.#bodyDue = false;
    // The server sent 354 although it had refused RCPT. An empty message ends the transaction; its reply is ignored.
    const { data, dots } = current.envelope;
    if (current.verdict) return this.#endBody('');
    if (isStreamed(data)) return this.#stream(current, data);
    const body = typeof data === 'string' ? data : stuffDots(data, dots);
    if (body.length <= PIECE_BYTES) return this.#endBody(body);
    this.#stream(current, inPieces(body, PIECE_BYTES));
  }

  /** Writes the last piece of a message, its final dot, and the commands of the next message. */
  #endBody(piece: Uint8Array | string, replies = 1): void {
    this.#dotWritten = true;
    this.#out.add(FINAL_DOT, replies);
    this.#pipelineNext();
    this.#out.flush(piece);
  }

  /** Writes a long message in pieces. The server may refuse it before the first one has been read. */
  #stream(current: Transaction, data: StreamedData): void {
    this.#wire.expectReply();
    const writing = writeInPieces(data, {
      piece: (bytes) => this.#writePiece(current, bytes),
      last: (bytes) => {
        if (this.#current !== current) return;
        this.#endBody(bytes, 0);
        this.#expectReply();
      },
    });
    writing.catch((error: unknown) => {
      if (this.#current === current) this.#wire.fail('the message could not be read', { cause: error });
    });
  }

  /** @returns whether the next piece may be written, once this one has left the process */
  #writePiece(current: Transaction, bytes: Uint8Array): Promise<boolean> {
    if (this.#current !== current) return Promise.resolve(false);
    this.#expectReply();
    return new Promise((resolve) =>
      this.#wire.write(bytes, 0, (error) => resolve(!error && this.#current === current)),
    );
  }
}
