import type { Wire } from './wire.ts';

/** Collects commands, and what goes before them, so that all leaves in one write. */
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

  /** Write what was added, if anything, behind the end of a body. */
  flush(body: Uint8Array | null = null): void {
    const commands = this.#commands;
    if (commands === '') return;
    const replies = this.#replies;
    this.#commands = '';
    this.#replies = 0;
    const head = body?.length ?? 0;
    // Commands hold bytes over 127 only in SMTPUTF8 addresses; three bytes a unit is the most UTF-8 takes.
    const bytes = Buffer.allocUnsafe(head + commands.length * 3);
    if (body) bytes.set(body, 0);
    const length = head + bytes.write(commands, head, 'utf8');
    this.#wire.write(bytes.subarray(0, length), replies);
  }
}
