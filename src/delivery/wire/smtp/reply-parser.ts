/** One reply (RFC 5321 §4.2). */
export interface SmtpReply {
  code: number;
  /** The enhanced status code (RFC 3463), such as `5.1.1`. Recognized even if EHLO did not offer such codes. */
  enhanced: string | null;
  /** The text without codes. Lines are joined by line feeds. */
  text: string;
}

/** The server's bytes are not a reply, or the reply is too long. */
export class MalformedReplyError extends Error {
  override readonly name = 'MalformedReplyError';
}

/** Maximum length of a reply, including all its lines, in bytes. A longer one is an attack or a mistake. */
const MAX_REPLY_BYTES = 65_536;
const EMPTY: Buffer = Buffer.alloc(0);
const LF = 10;
const CR = 13;
const SPACE = 32;
const HYPHEN = 45;
const ENHANCED = /^([245]\.\d{1,3}\.\d{1,3})(?: |$)/;

/**
 * Reads replies from bytes that arrive in any pieces: `feed` a piece, then call `next` until it returns null. Buffers
 * at most 64 KiB of an unfinished reply.
 */
export class ReplyParser {
  #chunk = EMPTY;
  #at = 0;
  /** Pieces of an unfinished line. */
  #pieces: Buffer[] = [];
  #buffered = 0;
  /** The code of an unfinished reply of several lines; 0 if there is none. */
  #code = 0;
  #size = 0;
  #enhanced: string | null = null;
  #lines: string[] = [];

  /** Whether there are bytes of an unfinished reply. */
  get partial(): boolean {
    return this.#buffered > 0 || this.#code > 0 || this.#at < this.#chunk.length;
  }

  feed(chunk: Buffer): void {
    if (this.#buffered > 0 && chunk.includes(LF)) {
      this.#chunk = Buffer.concat([...this.#pieces, chunk]);
      this.#pieces = [];
      this.#buffered = 0;
    } else {
      this.#chunk = chunk;
    }
    this.#at = 0;
  }

  /**
   * @returns the next complete reply, or null if more bytes are needed
   * @throws MalformedReplyError
   */
  next(): SmtpReply | null {
    for (;;) {
      const end = this.#chunk.indexOf(LF, this.#at);
      if (end === -1) return this.#buffer();
      const reply = this.#line(this.#at, end);
      this.#at = end + 1;
      if (reply) return reply;
    }
  }

  #buffer(): null {
    const rest = this.#at === 0 ? this.#chunk : this.#chunk.subarray(this.#at);
    if (rest.length > 0) this.#pieces.push(rest);
    this.#buffered += rest.length;
    this.#chunk = EMPTY;
    this.#at = 0;
    this.#bound(this.#buffered);
    return null;
  }

  #bound(more: number): void {
    if (this.#size + more > MAX_REPLY_BYTES) throw new MalformedReplyError('reply of more than 64 KiB');
  }

  #line(start: number, lf: number): SmtpReply | null {
    const chunk = this.#chunk;
    const end = lf > start && chunk[lf - 1] === CR ? lf - 1 : lf;
    const code = readCode(chunk, start, end);
    const separator = end - start === 3 ? SPACE : chunk[start + 3];
    if (
      code === 0 ||
      (separator !== SPACE && separator !== HYPHEN) ||
      (this.#code !== 0 && code !== this.#code)
    ) {
      throw new MalformedReplyError(`not an SMTP reply: ${excerpt(chunk, start, end)}`);
    }
    this.#bound(lf + 1 - start);
    this.#size += lf + 1 - start;
    this.#addText(readText(chunk, start + 4, end));
    this.#code = code;
    return separator === HYPHEN ? null : this.#finish();
  }

  #addText(text: string): void {
    const enhanced = text.charCodeAt(1) === 46 ? ENHANCED.exec(text)?.[1] : undefined;
    if (this.#lines.length === 0) this.#enhanced = enhanced ?? null;
    const repeated = enhanced !== undefined && enhanced === this.#enhanced;
    this.#lines.push(repeated ? text.slice(enhanced.length + 1) : text);
  }

  #finish(): SmtpReply {
    const [first = ''] = this.#lines;
    const text = this.#lines.length === 1 ? first : this.#lines.join('\n');
    const reply = { code: this.#code, enhanced: this.#enhanced, text };
    this.#code = 0;
    this.#size = 0;
    this.#enhanced = null;
    this.#lines = [];
    return reply;
  }
}

/** @returns the code of the line, 200 to 599, or 0 if there is none */
function readCode(chunk: Buffer, start: number, end: number): number {
  if (end - start < 3) return 0;
  const hundreds = digit(chunk[start]);
  const tens = digit(chunk[start + 1]);
  const ones = digit(chunk[start + 2]);
  return hundreds >= 2 && hundreds <= 5 && tens >= 0 && ones >= 0 ? hundreds * 100 + tens * 10 + ones : 0;
}

/** @returns the digit's value, or -1 */
function digit(byte = 0): number {
  return byte >= 48 && byte <= 57 ? byte - 48 : -1;
}

/** Replaces control characters, which are dangerous in a log. */
function readText(chunk: Buffer, start: number, end: number): string {
  if (start >= end) return '';
  return chunk.toString('utf8', start, end).replace(/[\x00-\x1f\x7f]/g, '?');
}

function excerpt(chunk: Buffer, start: number, end: number): string {
  return JSON.stringify(readText(chunk, start, Math.min(end, start + 60)));
}
