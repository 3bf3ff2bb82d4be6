import { createHash } from 'node:crypto';

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COLON = 0x3a;

/** RFC 5322, section 2.1.1; without the line break. */
const MAX_LINE_BYTES = 998;

/**
 * Fields that servers on the way add: a mail that is submitted again through other servers differs in them only.
 * RFC 5321, section 4.4.
 */
const TRACE_FIELDS = new Set(['received', 'return-path', 'delivered-to', 'x-original-to']);
/** A line's beginning of this size shows whether it is one of them. */
const NAME_BYTES = 32;

/** What is wrong with the lines of a mail, in words that follow `line 12`. */
export interface LineFault {
  line: number;
  problem: string;
}

/** Checks the lines of a mail while it arrives. */
class Lines {
  fault: LineFault | null = null;
  longLine: number | null = null;
  eightBit = false;
  #line = 1;
  #length = 0;
  #afterCr = false;

  /**
   * Line breaks other than CRLF would be read in another way by the next server: a mail could contain a second one.
   * NUL is in no text, and some servers end a line at it.
   */
  add(piece: Buffer): void {
    for (const byte of piece) {
      if (byte === LF) this.#endLine();
      else {
        if (this.#afterCr) this.#found('contains CR alone');
        this.#afterCr = byte === CR;
        if (byte === 0) this.#found('contains a NUL');
        if (byte > 0x7f) this.eightBit = true;
        this.#length += 1;
      }
    }
  }

  #endLine(): void {
    if (!this.#afterCr) this.#found('ends with LF alone');
    if (this.#length - 1 > MAX_LINE_BYTES) this.longLine ??= this.#line;
    this.#afterCr = false;
    this.#length = 0;
    this.#line += 1;
  }

  #found(problem: string): void {
    this.fault ??= { line: this.#line, problem };
  }
}

/** Hashes a mail without its trace fields. */
class Digest {
  readonly #hash = createHash('sha256');
  #inHeader = true;
  /** Of a line whose field is not known yet. */
  #beginning: Buffer | null = Buffer.alloc(0);
  /** Whether the current field is left out. */
  #leavesOut = false;

  add(piece: Buffer): void {
    let rest = piece;
    while (this.#inHeader && rest.length > 0) rest = this.#addHeader(rest);
    if (rest.length > 0) this.#hash.update(rest);
  }

  end(): Buffer {
    if (this.#beginning && this.#beginning.length > 0) this.#hash.update(this.#beginning);
    return this.#hash.digest();
  }

  /** Takes at most one line. @returns what is left */
  #addHeader(piece: Buffer): Buffer {
    const lineEnd = piece.indexOf(LF);
    const taken = lineEnd === -1 ? piece : piece.subarray(0, lineEnd + 1);
    if (this.#beginning) {
      this.#beginning = this.#beginning.length === 0 ? taken : Buffer.concat([this.#beginning, taken]);
      if (lineEnd !== -1 || this.#beginning.length >= NAME_BYTES) this.#begin(this.#beginning);
    } else if (!this.#leavesOut) this.#hash.update(taken);
    if (lineEnd !== -1) this.#beginning = Buffer.alloc(0);
    return piece.subarray(taken.length);
  }

  #begin(line: Buffer): void {
    this.#beginning = null;
    const isFolded = line[0] === SPACE || line[0] === TAB;
    if (line[0] === LF || (line[0] === CR && line[1] === LF)) {
      this.#inHeader = false;
      this.#leavesOut = false;
    } else if (!isFolded) {
      const name = line.subarray(0, Math.max(0, line.indexOf(COLON))).toString('latin1');
      this.#leavesOut = TRACE_FIELDS.has(name.trimEnd().toLowerCase());
    }
    if (!this.#leavesOut) this.#hash.update(line);
  }
}

/** Reads the pieces of a mail once, for all that must be known about its bytes. */
export interface MailBytes {
  add(piece: Buffer): void;
  /** Call once, after the last piece. */
  end(): { digest: Buffer; eightBit: boolean; longLine: number | null; fault: LineFault | null };
}

export function createMailBytes(): MailBytes {
  const lines = new Lines();
  const digest = new Digest();
  return {
    add(piece) {
      lines.add(piece);
      digest.add(piece);
    },
    end: () => ({
      digest: digest.end(),
      eightBit: lines.eightBit,
      longLine: lines.longLine,
      fault: lines.fault,
    }),
  };
}
