/**
 * A scan of the raw bytes of a mail before it is parsed. It takes linear time and little memory, whatever the mail
 * contains, and refuses mail that would keep a parser busy.
 */

const MAX_PARTS = 1_000;
const MAX_LEVELS = 100;
const MAX_FIELDS = 1_000;
const MAX_HEADER_BYTES = 256 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const HYPHEN = 0x2d;

const CONTENT_TYPE = /^content-type[ \t]*:/i;
const BOUNDARY = /;\s*boundary(?:\*0?\*?)?\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/i;
const WITHIN = /^content-type[ \t]*:\s*(multipart|message)\/([^\s;]*)/i;

/** A multipart body whose parts are being read. */
interface OpenPart {
  boundary: Buffer;
  level: number;
}

/** The lines of a mail, without their line ends. */
function* linesOf(bytes: Buffer): Generator<{ start: number; end: number }> {
  let start = 0;
  while (start < bytes.length) {
    const feed = bytes.indexOf(LF, start);
    const next = feed === -1 ? bytes.length : feed;
    const end = next > start && bytes[next - 1] === CR ? next - 1 : next;
    yield { start, end };
    start = next + 1;
  }
}

class Scan {
  readonly #bytes: Buffer;
  #parts = 1;
  /** Levels of parts around the current one. */
  #level = 0;
  #open: OpenPart[] = [];
  #inHeader = true;
  #headerStart = 0;
  #fields = 0;
  /** The lines of the Content-Type field of the current header. */
  #contentType = '';
  #inContentType = false;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** @returns what is wrong with the mail; null if nothing is */
  run(): string | null {
    for (const { start, end } of linesOf(this.#bytes)) {
      const problem = this.#inHeader ? this.#headerLine(start, end) : this.#bodyLine(start, end);
      if (problem !== null) return problem;
    }
    return null;
  }

  #headerLine(start: number, end: number): string | null {
    if (end - this.#headerStart > MAX_HEADER_BYTES)
      return `a header has more than ${MAX_HEADER_BYTES / 1024} KB`;
    if (start === end) return this.#endHeader(end);
    // A part may have no body; then the next delimiter follows its header.
    const within = this.#delimited(start, end);
    if (within) return this.#delimiter(within);
    const first = this.#bytes[start];
    if (first === SPACE || first === TAB) {
      if (this.#inContentType) this.#contentType += this.#text(start, end);
      return null;
    }
    this.#fields += 1;
    if (this.#fields > MAX_FIELDS) return `a header has more than ${MAX_FIELDS} fields`;
    this.#inContentType =
      this.#contentType === '' && CONTENT_TYPE.test(this.#text(start, Math.min(end, start + 40)));
    if (this.#inContentType) this.#contentType = this.#text(start, end);
    return null;
  }

  #endHeader(end: number): string | null {
    const contentType = this.#contentType;
    const [, type, subtype] = WITHIN.exec(contentType) ?? [];
    if (type?.toLowerCase() === 'message' && subtype?.toLowerCase() === 'rfc822') {
      this.#beginHeader(end);
      return this.#enter(this.#level + 1);
    }
    this.#inHeader = false;
    const match = type?.toLowerCase() === 'multipart' ? BOUNDARY.exec(contentType) : null;
    if (!match) return null;
    const boundary = (match[1]?.replace(/\\(.)/g, '$1') ?? match[2] ?? '').trimEnd();
    if (boundary !== '') this.#open.push({ boundary: Buffer.from(boundary, 'latin1'), level: this.#level });
    return null;
  }

  #bodyLine(start: number, end: number): string | null {
    const within = this.#delimited(start, end);
    return within ? this.#delimiter(within) : null;
  }

  /** Finds the multipart body that a delimiter line belongs to. */
  #delimited(start: number, end: number): { index: number; last: boolean; end: number } | null {
    if (end - start < 3 || this.#bytes[start] !== HYPHEN || this.#bytes[start + 1] !== HYPHEN) return null;
    for (let index = this.#open.length - 1; index >= 0; index -= 1) {
      const { boundary } = this.#open[index] as OpenPart;
      const after = start + 2 + boundary.length;
      if (after > end || this.#bytes.compare(boundary, 0, boundary.length, start + 2, after) !== 0) continue;
      const rest = this.#text(after, Math.min(end, after + 100)).trimEnd();
      if (rest === '' || rest === '--') return { index, last: rest === '--', end };
    }
    return null;
  }

  #delimiter({ index, last, end }: { index: number; last: boolean; end: number }): string | null {
    const { level } = this.#open[index] as OpenPart;
    this.#open.length = last ? index : index + 1;
    this.#inHeader = !last;
    if (last) {
      this.#level = level;
      return null;
    }
    this.#beginHeader(end);
    return this.#enter(level + 1);
  }

  #enter(level: number): string | null {
    this.#level = level;
    this.#parts += 1;
    if (this.#parts > MAX_PARTS) return `the mail has more than ${MAX_PARTS} parts`;
    return level > MAX_LEVELS ? `parts are nested more than ${MAX_LEVELS} levels deep` : null;
  }

  #beginHeader(start: number): void {
    this.#headerStart = start;
    this.#fields = 0;
    this.#contentType = '';
    this.#inContentType = false;
  }

  #text(start: number, end: number): string {
    return this.#bytes.toString('latin1', start, end);
  }
}

/**
 * Checks the structure of a mail. Parts of attached mails count, too, unless they are encoded.
 * @returns why the mail must not be parsed; null if it may be
 */
export function structureProblem(bytes: Buffer): string | null {
  return new Scan(bytes).run();
}

/**
 * Returns the header of a mail, with the empty line after it, cut at a line to the size that a header may have.
 */
export function headerOf(bytes: Buffer): Buffer {
  let fields = 0;
  let last = 0;
  for (const { start, end } of linesOf(bytes.subarray(0, MAX_HEADER_BYTES))) {
    if (start === end) return bytes.subarray(0, start);
    const first = bytes[start];
    if (first !== SPACE && first !== TAB) fields += 1;
    if (fields > MAX_FIELDS) break;
    last = end;
  }
  return bytes.subarray(0, last);
}
