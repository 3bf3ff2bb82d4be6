/** Quoted-printable (RFC 2045 §6.7). A dot or `From ` at the start of a line is encoded, too, because relays change it. */

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const DOT = 0x2e;
const EQUALS = 0x3d;
const F = 0x46;
const LAST_PRINTABLE = 0x7e;
const hexDigits = Buffer.from('0123456789ABCDEF');
/** One less than the limit of 76, because a soft break adds `=`. */
const MAX_CONTENT_PER_LINE = 75;
/** Maximum number of output bytes for each byte of text, including soft breaks. */
const MAX_GROWTH = 4;
const MAX_KEPT_BYTES = 256 * 1024;

/**
 * Shared, because each email needs it only for microseconds, and allocating several kilobytes takes longer than filling
 * them.
 */
const scratch = Buffer.allocUnsafeSlow(MAX_KEPT_BYTES);

/** 1: the byte is not encoded, except perhaps at the start of a line. White space depends on what follows. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte > SPACE && byte <= LAST_PRINTABLE && byte !== EQUALS ? 1 : 0,
);

/** Writes one text. Two encoders must not be used at the same time, as they share memory. */
export class QuotedPrintableEncoder {
  readonly #bytes: Buffer;
  readonly #output: Buffer;
  #length = 0;
  #column = 0;

  /** @param bytes text in which CR and LF occur only as CRLF pairs */
  constructor(bytes: Buffer) {
    const size = bytes.length * MAX_GROWTH + 8;
    this.#bytes = bytes;
    this.#output = size > MAX_KEPT_BYTES ? Buffer.allocUnsafe(size) : scratch;
  }

  /** Encodes a range of the text. */
  encode(start: number, end: number): void {
    const bytes = this.#bytes;
    const output = this.#output;
    let length = this.#length;
    let column = this.#column;
    for (let index = start; index < end; index += 1) {
      const byte = bytes[index] ?? 0;
      if (PLAIN[byte] === 1 && column > 0 && column < MAX_CONTENT_PER_LINE) {
        output[length++] = byte;
        column += 1;
        continue;
      }
      if (byte === CR) {
        output[length++] = CR;
        output[length++] = LF;
        column = 0;
        index += 1;
        continue;
      }
      let literal = isLiteral(bytes, index, byte);
      if (column + (literal ? 1 : 3) > MAX_CONTENT_PER_LINE) {
        length = breakLine(output, length);
        column = 0;
      }
      if (column === 0 && literal) literal = !isFragileAtLineStart(bytes, index, byte);
      if (literal) output[length++] = byte;
      else length = escapeByte(output, length, byte);
      column += literal ? 1 : 3;
    }
    this.#length = length;
    this.#column = column;
  }

  /**
   * Copies characters that need no encoding even at the start of a line.
   * @param onRun called for the run in each line: its offset in the text, its offset in the output, its length
   */
  copy(start: number, end: number, onRun: (first: number, at: number, count: number) => void): void {
    for (let next = start; next < end;) {
      if (this.#column === MAX_CONTENT_PER_LINE) {
        this.#length = breakLine(this.#output, this.#length);
        this.#column = 0;
      }
      const count = Math.min(end - next, MAX_CONTENT_PER_LINE - this.#column);
      this.#bytes.copy(this.#output, this.#length, next, next + count);
      onRun(next, this.#length, count);
      this.#length += count;
      this.#column += count;
      next += count;
    }
  }

  /** Ends the line with a soft break unless it is empty, so that the text after it can be encoded independently. */
  breakLine(): void {
    if (this.#column === 0) return;
    this.#length = breakLine(this.#output, this.#length);
    this.#column = 0;
  }

  /** Leaves room in one line for characters that are inserted later and need no encoding. @param count at most 75 */
  leaveRoom(count: number): void {
    if (this.#column + count > MAX_CONTENT_PER_LINE) this.breakLine();
    this.#column += count;
  }

  /** Length of the output so far. */
  get length(): number {
    return this.#length;
  }

  /** @param start offset in the output */
  toString(start = 0): string {
    return this.#output.toString('latin1', start, this.#length);
  }
}

/** Printable ASCII that needs no encoding even at the start of a line, and that fits into one line. */
const PLAIN_VALUE = /^(?!\.|From )[ -<>-~]{1,75}$/;

/**
 * Encodes a text that is inserted between soft breaks, or at the start of a line.
 * @param text CR and LF occur only as CRLF pairs
 * @returns lines, each of which ends with CRLF; none for an empty text
 */
export function encodeInsertion(text: string): string {
  if (PLAIN_VALUE.test(text)) return `${text}=\r\n`;
  const bytes = Buffer.from(text);
  const encoder = new QuotedPrintableEncoder(bytes);
  encoder.encode(0, bytes.length);
  encoder.breakLine();
  return encoder.toString();
}

function breakLine(output: Buffer, length: number): number {
  output[length] = EQUALS;
  output[length + 1] = CR;
  output[length + 2] = LF;
  return length + 3;
}

function escapeByte(output: Buffer, length: number, byte: number): number {
  output[length] = EQUALS;
  output[length + 1] = hexDigits[byte >> 4] ?? 0;
  output[length + 2] = hexDigits[byte & 15] ?? 0;
  return length + 3;
}

function isLiteral(bytes: Buffer, index: number, byte: number): boolean {
  if (byte === SPACE || byte === TAB) return index + 1 < bytes.length && bytes[index + 1] !== CR;
  return PLAIN[byte] === 1;
}

function isFragileAtLineStart(bytes: Buffer, index: number, byte: number): boolean {
  if (byte === DOT) return true;
  return byte === F && bytes.toString('latin1', index, index + 5) === 'From ';
}
