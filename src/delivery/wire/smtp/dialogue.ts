import { SmtpConnectionError, type SmtpStage } from './connection-error.ts';
import type { SmtpReply } from './reply-parser.ts';
import type { Wire, WireListener } from './wire.ts';

interface PendingReply {
  resolve: (reply: SmtpReply) => void;
  reject: (error: SmtpConnectionError) => void;
}

/** Sends one command at a time and waits for its reply. Used for the handshake. */
export class Dialogue implements WireListener {
  stage: SmtpStage = 'banner';
  readonly #timeoutMs: number;
  #wire: Wire | null = null;
  #pending: PendingReply | null = null;
  #ended: SmtpConnectionError | null = null;

  /** @param timeoutMs for each reply */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** Switches to another wire. */
  use(wire: Wire): void {
    this.#wire = wire;
  }

  /**
   * Writes a command and waits for its reply.
   * @param stage the stage from now on
   * @param command without its line end; null to wait for the greeting
   * @throws SmtpConnectionError if the connection ends
   */
  async ask(stage: SmtpStage, command: string | null): Promise<SmtpReply> {
    this.#throwIfEnded();
    this.stage = stage;
    const reply = await new Promise<SmtpReply>((resolve, reject) => {
      this.#pending = { resolve, reject };
      if (command === null) this.#wire?.expectReply();
      else this.#wire?.write(Buffer.from(`${command}\r\n`), 1);
      this.#wire?.expectWithin(this.#timeoutMs);
    });
    // Bytes that arrived with the reply may have ended the connection.
    this.#throwIfEnded();
    return reply;
  }

  /** Writes a command and accepts only one reply code. @throws SmtpConnectionError for any other */
  async demand(stage: SmtpStage, command: string | null, code: number): Promise<SmtpReply> {
    const reply = await this.ask(stage, command);
    if (reply.code !== code) throw refusal(stage, reply);
    return reply;
  }

  #throwIfEnded(): void {
    if (this.#ended) throw this.#ended;
  }

  reply(reply: SmtpReply): void {
    const pending = this.#pending;
    this.#pending = null;
    pending?.resolve(reply);
  }

  settled(): void {
    if (!this.#pending) this.#wire?.expectNothing();
  }

  ended(error: SmtpConnectionError): void {
    this.#ended = error;
    this.#pending?.reject(error);
  }
}

/**
 * The error for a reply that ends the handshake. Its message contains only the codes: it goes into logs and to
 * Temporal, and a server's text may contain anything, such as credentials or addresses.
 */
export function refusal(stage: SmtpStage, reply: SmtpReply): SmtpConnectionError {
  return new SmtpConnectionError(stage, `${stage} refused: ${replyCodes(reply)}`, { reply });
}

/** The reply's code and, if it has one, its enhanced code, without the server's text. */
export function replyCodes({ code, enhanced }: SmtpReply): string {
  return enhanced === null ? String(code) : `${code} ${enhanced}`;
}
