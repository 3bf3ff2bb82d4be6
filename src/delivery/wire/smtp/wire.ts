import type { Socket } from 'node:net';
import { SmtpConnectionError, type SmtpStage } from './connection-error.ts';
import { ReplyParser, type SmtpReply } from './reply-parser.ts';

/** The current user of a wire: first the handshake, then the session. */
export interface WireListener {
  /** The current stage, for errors. */
  readonly stage: SmtpStage;
  /** Receives the reply to the oldest unanswered command. */
  reply(reply: SmtpReply): void;
  /** Called after all replies that arrived together were passed on, so that commands may be written. */
  settled(): void;
  /** The connection has ended. Called once; nothing is called afterwards. */
  ended(error: SmtpConnectionError): void;
}

/**
 * A socket as a stream of commands and replies.
 *
 * It counts the replies that the server owes, so that it detects every unexpected reply. It reads everything that has
 * arrived before commands are written, so that no reply is mistaken for that to a later command. All deadlines share
 * one coarse timer.
 */
export class Wire {
  readonly #socket: Socket;
  readonly #parser = new ReplyParser();
  #listener: WireListener;
  /** Number of replies that the server owes. */
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
   * Writes commands, or a message, to which the server will send `replies` replies.
   * @param flushed called when the operating system has accepted the bytes, or with the error that prevented it
   */
  write(bytes: Uint8Array, replies: number, flushed?: (error?: Error | null) => void): void {
    this.#owed += replies;
    if (flushed) this.#socket.write(bytes, flushed);
    else this.#socket.write(bytes);
  }

  /** As {@link write}. @param text of Latin-1 characters */
  writeText(text: string, replies: number): void {
    this.#owed += replies;
    this.#socket.write(text, 'latin1');
  }

  /** Expects a reply without a command, such as the greeting, or before the message that it answers. */
  expectReply(): void {
    this.#owed++;
  }

  /** Sets the deadline of the next reply. A later call replaces it. */
  expectWithin(ms: number): void {
    const now = performance.now();
    this.#deadline = now + ms;
    if (this.#deadline < this.#timerAt) this.#arm(now, ms);
  }

  expectNothing(): void {
    this.#deadline = Infinity;
  }

  /** Ends the connection and notifies the listener at once. */
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
   * Releases the socket, so that TLS can be started on it. The wire does not read from it any more.
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
    let passedOn = false;
    try {
      this.#parser.feed(chunk);
      for (let reply = this.#parser.next(); reply; reply = this.#parser.next()) {
        if (this.#owed === 0) return this.#unexpected(reply);
        this.#owed--;
        this.#listener.reply(reply);
        if (this.#over) return;
        passedOn = true;
      }
    } catch (error) {
      return this.fail((error as Error).message, { cause: error, violation: true });
    }
    if (this.#owed === 0 && this.#parser.partial)
      return this.fail('unexpected bytes from the server', { violation: true });
    if (passedOn) this.#listener.settled();
  }

  /** A server may send 421 at any time to close the connection. Any other reply without a command breaks the protocol. */
  #unexpected(reply: SmtpReply): void {
    if (reply.code === 421) return this.fail('the server is closing the connection', { reply });
    this.fail('reply without a command', { reply, violation: true });
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
    // Timers may fire a millisecond early.
    if (this.#deadline - now > 1) return this.#arm(now, Math.ceil(this.#deadline - now));
    this.fail('reply timed out');
  }
}
