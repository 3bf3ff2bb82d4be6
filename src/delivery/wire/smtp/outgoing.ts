import type { Wire } from './wire.ts';

const NON_ASCII = /[^\x00-\x7f]/;

/** Collects commands and sends them in one write, together with the end of the body that precedes them. */
export class Outgoing {
  readonly #wire: Wire;
  #commands = '';
  #replies = 0;

  constructor(wire: Wire) {
    this.#wire = wire;
  }

  /**
   * @param commands with their line ends
   * @param replies the number of replies that they expect
   */
  add(commands: string, replies: number): void {
    this.#commands += commands;
    this.#replies += replies;
  }

  /** Writes the added commands, if any, after the end of a body. */
  flush(body: Uint8Array | string = ''): void {
    const commands = this.#commands;
    if (commands === '') return;
    const replies = this.#replies;
    this.#commands = '';
    this.#replies = 0;
    // The socket writes a string without copying it.
    if (typeof body === 'string' && !NON_ASCII.test(commands)) {
      return this.#wire.writeText(body + commands, replies);
    }
    const bodyLength = body.length;
    // Only SMTPUTF8 addresses have non-ASCII characters. UTF-8 takes at most three bytes for each UTF-16 unit.
    const bytes = Buffer.allocUnsafe(bodyLength + commands.length * 3);
    if (typeof body === 'string') bytes.write(body, 0, 'latin1');
    else bytes.set(body, 0);
    const length = bodyLength + bytes.write(commands, bodyLength, 'utf8');
    this.#wire.write(bytes.subarray(0, length), replies);
  }
}
