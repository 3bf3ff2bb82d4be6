import type { Socket } from 'node:net';
import { SmtpConnectionError, type SmtpStage } from './connection-error.ts';
import { ReplyParser, type SmtpReply } from './reply-parser.ts';

/** Who is talking over a wire at present: the handshake, then the session. */
export interface WireListener {
  /** Where the conversation stands, for the errors. */
  readonly stage: SmtpStage;
  /** A reply to the oldest command without one. */
  reply(reply: SmtpReply): void;
  /** Replies that came together have all been told: the time to write. */
  settled(): void;
  /** The connection is over. Called once, and nothing after it. */
  ended(error: SmtpConnectionError): void;
}

/**
 * A socket, seen as commands and replies. Keeps the account of replies owed, so that a surplus or unasked one is found
 * whoever is talking; reads all that came before anyone writes, so that a reply is never taken for the answer to a
 * command written after it. One coarse timer guards all deadlines.
 */
export class Wire {
  readonly #socket: Socket;
  readonly #parser = new ReplyParser();
  #listener: WireListener;
  /** Replies that the server owes us. */
  #owed = 0;
  #over = false;
  #trouble: Error | null = null;
  #deadline = Infinity;
  #timer: NodeJS.Timeout | null = null;
  #timerAt = Infinity;

  readonly #onData = (chunk: Buffer): void => this.#read(chunk);
  readonly #onError = (error: Error): void => {
    this.#trouble ??= error;
  };
  readonly #onEnd = (): void => this.#lost();

  constructor(socket: Socket, listener: WireListener) {
    this.#socket = socket;
    this.#listener = listener;
    socket
      .on('data', this.#onData)
      .on('error', this.#onError)
      .on('end', this.#onEnd)
      .on('close', this.#onEnd);
  }

  get owed(): number {
    return this.#owed;
  }

  /** The server's address; empty once the connection has ended. */
  get remoteAddress(): string {
    return this.#socket.remoteAddress ?? '';
  }

  listen(listener: WireListener): void {
    this.#listener = listener;
  }

  /**
   * Write commands (or a message) that the server will answer with `replies` replies.
   * @param flushed called when the operating system has taken the bytes
   */
  write(bytes: Uint8Array, replies: number, flushed?: () => void): void {
    this.#owed += replies;
    if (flushed) this.#socket.write(bytes, (error) => (error ? undefined : flushed()));
    else this.#socket.write(bytes);
  }

  /** The server speaks first. */
  expectReply(): void {
    this.#owed++;
  }

  /** The next reply, or a call of this method, has to come within `ms`. */
  expectWithin(ms: number): void {
    const now = performance.now();
    this.#deadline = now + ms;
    if (this.#deadline < this.#timerAt) this.#arm(now, ms);
  }

  expectNothing(): void {
    this.#deadline = Infinity;
  }

  /** End the connection; the listener hears of it at once. */
  fail(message: string, detail: { reply?: SmtpReply; cause?: unknown; violation?: boolean } = {}): void {
    this.end(new SmtpConnectionError(this.#listener.stage, message, detail));
  }

  end(error: SmtpConnectionError): void {
    if (this.#over) return;
    this.release();
    this.#socket.on('error', () => undefined).destroy();
    this.#listener.ended(error);
  }

  /**
   * Give the socket away, for TLS to be put on it. Nothing is read from it any more.
   * @returns the socket, paused
   */
  release(): Socket {
    this.#over = true;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const socket = this.#socket.pause();
    socket
      .off('data', this.#onData)
      .off('error', this.#onError)
      .off('end', this.#onEnd)
      .off('close', this.#onEnd);
    return socket;
  }

  #read(chunk: Buffer): void {
    let told = false;
    try {
      this.#parser.feed(chunk);
      for (let reply = this.#parser.next(); reply; reply = this.#parser.next()) {
        if (this.#owed === 0) return this.#unasked(reply);
        this.#owed--;
        this.#listener.reply(reply);
        if (this.#over) return;
        told = true;
      }
    } catch (error) {
      return this.fail((error as Error).message, { cause: error, violation: true });
    }
    if (this.#owed === 0 && this.#parser.partial)
      return this.fail('unasked bytes from the server', { violation: true });
    if (told) this.#listener.settled();
  }

  /** With 421 a server may say good-bye at any time; any other reply that nobody asked for breaks the protocol. */
  #unasked(reply: SmtpReply): void {
    if (reply.code === 421) return this.fail('the server is closing the connection', { reply });
    this.fail('reply to no command', { reply, violation: true });
  }

  #lost(): void {
    const message = this.#trouble?.message ?? 'the server closed the connection';
    this.fail(message, this.#trouble ? { cause: this.#trouble } : {});
  }

  #arm(now: number, ms: number): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timerAt = now + ms;
    this.#timer = setTimeout(() => this.#onTimer(), ms);
    this.#timer.unref();
  }

  #onTimer(): void {
    const now = performance.now();
    this.#timer = null;
    this.#timerAt = Infinity;
    if (this.#deadline === Infinity) return;
    // Timers may come a millisecond early.
    if (this.#deadline - now > 1) return this.#arm(now, Math.ceil(this.#deadline - now));
    this.fail('no reply in time');
  }
}
