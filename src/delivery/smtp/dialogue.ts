import { SmtpConnectionError, type SmtpStage } from './connection-error.ts';
import type { SmtpReply } from './reply-parser.ts';
import type { Wire, WireListener } from './wire.ts';

interface Asked {
  resolve: (reply: SmtpReply) => void;
  reject: (error: SmtpConnectionError) => void;
}

/** One command at a time, as a handshake goes: ask, wait for the reply, ask the next. */
export class Dialogue implements WireListener {
  stage: SmtpStage = 'banner';
  readonly #timeoutMs: number;
  #wire: Wire | null = null;
  #asked: Asked | null = null;
  #ended: SmtpConnectionError | null = null;

  /** @param timeoutMs for each reply */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** Talk over this wire from now on. */
  use(wire: Wire): void {
    this.#wire = wire;
  }

  /**
   * Write a command and wait for its reply.
   * @param stage where the conversation stands from now on
   * @param command without its line end; null to wait for the greeting
   * @throws SmtpConnectionError when the connection ends, or 421 announces it
   */
  async ask(stage: SmtpStage, command: string | null): Promise<SmtpReply> {
    this.#refuseIfEnded();
    this.stage = stage;
    const reply = await new Promise<SmtpReply>((resolve, reject) => {
      this.#asked = { resolve, reject };
      if (command === null) this.#wire?.expectReply();
      else this.#wire?.write(Buffer.from(`${command}\r\n`), 1);
      this.#wire?.expectWithin(this.#timeoutMs);
    });
    // What came together with the reply may have ended the connection.
    this.#refuseIfEnded();
    return reply;
  }

  /** The same, where only one code lets the handshake go on. */
  async demand(stage: SmtpStage, command: string | null, code: number): Promise<SmtpReply> {
    const reply = await this.ask(stage, command);
    if (reply.code !== code) throw refusal(stage, reply);
    return reply;
  }

  #refuseIfEnded(): void {
    if (this.#ended) throw this.#ended;
  }

  reply(reply: SmtpReply): void {
    const asked = this.#asked;
    this.#asked = null;
    asked?.resolve(reply);
  }

  settled(): void {
    if (!this.#asked) this.#wire?.expectNothing();
  }

  ended(error: SmtpConnectionError): void {
    this.#ended = error;
    this.#asked?.reject(error);
  }
}

/** The server said something else than what lets a handshake go on. */
export function refusal(stage: SmtpStage, reply: SmtpReply): SmtpConnectionError {
  const said = [reply.code, reply.enhanced, reply.text].filter(Boolean).join(' ');
  return new SmtpConnectionError(stage, `${stage} refused: ${said}`, { reply });
}
