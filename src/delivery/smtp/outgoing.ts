import type { Wire } from './wire.ts';

/** Collects commands so that they are sent in one write, together with the end of a body before them. */
export class Outgoing {
  readonly #wire: Wire;
  #commands = '';
  #replies = 0;

  constructor(wire: Wire) {
    this.#wire = wire;
  }

  /**
   * @param commands with their line ends
   * @param replies that the server owes for them
   */
  add(commands: string, replies: number): void {
    this.#commands += commands;
    this.#replies += replies;
  }

  /** Writes the added commands, if any, after the end of a body. */
  flush(body: Uint8Array | null = null): void {
    const commands = this.#commands;
    if (commands === '') return;
    const replies = this.#replies;
    this.#commands = '';
    this.#replies = 0;
    const bodyLength = body?.length ?? 0;
    // Only SMTPUTF8 addresses have non-ASCII characters. UTF-8 takes at most three bytes per UTF-16 unit.
    const bytes = Buffer.allocUnsafe(bodyLength + commands.length * 3);
    if (body) bytes.set(body, 0);
    const length = bodyLength + bytes.write(commands, bodyLength, 'utf8');
    this.#wire.write(bytes.subarray(0, length), replies);
  }
}
