import type { BuiltMessage } from './message.ts';

/**
 * A CR or LF outside of CRLF, or a dot at the start of a line. A message with either is scanned again before it is
 * sent.
 */
const SUSPECT_LINE = /(?:^|\n)\.|\r(?!\n)|(?<!\r)\n/;

export const isSuspect = (text: string): boolean => SUSPECT_LINE.test(text);

/** A message of ASCII characters. Most providers do not need its bytes. */
export class TextMessage implements BuiltMessage {
  readonly smtpUtf8 = false;
  readonly eightBit = false;
  readonly text: string;
  #data: Buffer | undefined;

  constructor(text: string) {
    this.text = text;
  }

  get data(): Buffer {
    return (this.#data ??= Buffer.from(this.text, 'latin1'));
  }
}
