/**
 * A scan of the raw bytes of a mail before it is parsed. It takes linear time and little memory, whatever the mail
 * contains. It refuses mail that would keep a parser busy, and finds where the parts are.
 */

const MAX_PARTS = 1_000;
/** A mail of 25 MB has 350,000 lines of the usual length. */
const MAX_LINES = 1_000_000;
const MAX_LEVELS = 100;
const MAX_FIELDS = 1_000;
const MAX_HEADER_BYTES = 256 * 1024;
/** To parse addresses takes time that grows with the square of the length of their field. */
const MAX_FIELD_BYTES = 32 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const HYPHEN = 0x2d;

/** Fields that say what a part is. */
const CONTENT_FIELD = /^(content-(?:type|transfer-encoding|disposition))[ \t]*:/i;
const BOUNDARY = /;\s*boundary(?:\*0?\*?)?\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/i;

/** A part without parts of its own, or `null` as its type: bytes that belong to no part. */
export interface Leaf {
  /** The bytes of its body, without the line break before the next delimiter. */
  start: number;
  end: number;
  lines: number;
  /** In lower case, such as `image/png`. */
  type: string | null;
  /** Content-Transfer-Encoding in lower case; empty if there is none. */
  encoding: string;
  /** In lower case; empty if there is none. */
  disposition: string;
}

export interface Structure {
  /** Why the mail must not be parsed; null if it may be. */
  problem: string | null;
  /** In order. */
  leaves: Leaf[];
  /** Lines that end with LF alone. */
  bareLines: number;
}

/** A multipart body whose parts are being read. */
interface OpenPart {
  boundary: Buffer;
  level: number;
}

/** The lines of a mail, without their line ends. */
function* linesOf(bytes: Buffer): Generator<{ start: number; end: number; next: number }> {
  let start = 0;
  while (start < bytes.length) {
    const feed = bytes.indexOf(LF, start);
    const at = feed === -1 ? bytes.length : feed;
    const end = at > start && bytes[at - 1] === CR ? at - 1 : at;
    yield { start, end, next: at + 1 };
    start = at + 1;
  }
}

class Scan {
  readonly #bytes: Buffer;
  readonly #structure: Structure = { problem: null, leaves: [], bareLines: 0 };
  #parts = 1;
  /** Levels of parts around the current one. */
  #level = 0;
  #open: OpenPart[] = [];
  #leaf: Leaf | null = null;
  #headerStart = 0;
  #fieldStart = 0;
  #fields = 0;
  /** The content fields of the current header, by name. */
  #content = new Map<string, string>();
  /** The content field whose lines are being read. */
  #field: string | null = null;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  run(): Structure {
    let lines = 0;
    for (const { start, end, next } of linesOf(this.#bytes)) {
      lines += 1;
      if (next - end === 1) this.#structure.bareLines += 1;
      let problem = this.#delimiterLine(start, end, next) ?? this.#otherLine(start, end, next);
      if (lines > MAX_LINES) problem = `the mail has more than ${MAX_LINES.toLocaleString('en')} lines`;
      if (problem === '' || problem === null) continue;
      this.#structure.problem = problem;
      break;
    }
    return this.#structure;
  }

  /** @returns null if the line is no delimiter; else what is wrong, or an empty text */
  #delimiterLine(start: number, end: number, next: number): string | null {
    const found = this.#delimited(start, end);
    if (!found) return null;
    const { level } = this.#open[found.index] as OpenPart;
    this.#open.length = found.last ? found.index : found.index + 1;
    if (found.last) {
      this.#level = level;
      this.#beginLeaf(next, null);
      return '';
    }
    this.#beginHeader(next);
    return this.#enter(level + 1);
  }

  /** Finds the multipart body that a delimiter line belongs to. */
  #delimited(start: number, end: number): { index: number; last: boolean } | null {
    if (end - start < 3 || this.#bytes[start] !== HYPHEN || this.#bytes[start + 1] !== HYPHEN) return null;
    for (let index = this.#open.length - 1; index >= 0; index -= 1) {
      const { boundary } = this.#open[index] as OpenPart;
      const after = start + 2 + boundary.length;
      if (after > end || this.#bytes.compare(boundary, 0, boundary.length, start + 2, after) !== 0) continue;
      const rest = this.#text(after, Math.min(end, after + 100)).trimEnd();
      if (rest === '' || rest === '--') return { index, last: rest === '--' };
    }
    return null;
  }

  #otherLine(start: number, end: number, next: number): string | null {
    if (this.#leaf === null) return this.#headerLine(start, end, next);
    this.#leaf.end = end;
    this.#leaf.lines += 1;
    return null;
  }

  #headerLine(start: number, end: number, next: number): string | null {
    if (end - this.#headerStart > MAX_HEADER_BYTES)
      return `a header has more than ${MAX_HEADER_BYTES / 1024} KB`;
    if (start === end) return this.#endHeader(next);
    const first = this.#bytes[start];
    const continues = first === SPACE || first === TAB;
    if (!continues) this.#beginField(start, end);
    else if (this.#field !== null) {
      this.#content.set(this.#field, `${this.#content.get(this.#field)}${this.#text(start, end)}`);
    }
    if (end - this.#fieldStart > MAX_FIELD_BYTES) return `a field has more than ${MAX_FIELD_BYTES / 1024} KB`;
    return this.#fields > MAX_FIELDS
      ? `a header has more than ${MAX_FIELDS.toLocaleString('en')} fields`
      : null;
  }

  #beginField(start: number, end: number): void {
    this.#fieldStart = start;
    this.#fields += 1;
    const [mark, name = ''] = CONTENT_FIELD.exec(this.#text(start, Math.min(end, start + 40))) ?? [];
    const key = name.toLowerCase();
    this.#field = mark === undefined || this.#content.has(key) ? null : key;
    if (this.#field !== null) this.#content.set(key, this.#text(start + (mark?.length ?? 0), end));
  }

  #endHeader(next: number): string | null {
    const field = this.#content.get('content-type') ?? '';
    const type = token(field) || 'text/plain';
    if (type === 'message/rfc822' && isPlain(this.#encoding)) {
      this.#beginHeader(next);
      return this.#enter(this.#level + 1);
    }
    const match = type.startsWith('multipart/') ? BOUNDARY.exec(field) : null;
    const boundary = (match?.[1]?.replace(/\\(.)/g, '$1') ?? match?.[2] ?? '').trimEnd();
    if (boundary !== '') this.#open.push({ boundary: Buffer.from(boundary, 'latin1'), level: this.#level });
    this.#beginLeaf(next, boundary === '' ? type : null);
    return null;
  }

  get #encoding(): string {
    return token(this.#content.get('content-transfer-encoding') ?? '');
  }

  #enter(level: number): string {
    this.#level = level;
    this.#parts += 1;
    if (this.#parts > MAX_PARTS) return `the mail has more than ${MAX_PARTS.toLocaleString('en')} parts`;
    return level > MAX_LEVELS ? `parts are nested more than ${MAX_LEVELS} levels deep` : '';
  }

  #beginHeader(start: number): void {
    this.#leaf = null;
    this.#headerStart = start;
    this.#fieldStart = start;
    this.#fields = 0;
    this.#content = new Map();
    this.#field = null;
  }

  #beginLeaf(start: number, type: string | null): void {
    const disposition = token(this.#content.get('content-disposition') ?? '');
    this.#leaf = { start, end: start, lines: 0, type, encoding: this.#encoding, disposition };
    this.#structure.leaves.push(this.#leaf);
  }

  #text(start: number, end: number): string {
    return this.#bytes.toString('latin1', start, end);
  }
}

/** The value of a content field before its parameters. */
function token(field: string): string {
  return (field.replace(/\([^()]*\)/g, '').split(';', 1)[0] ?? '').trim().toLowerCase();
}

/** Whether a body is its content, not encoded. */
export function isPlain(encoding: string): boolean {
  return !encoding.includes('base64') && !encoding.includes('quoted-printable');
}

/** Scans a mail. Parts of attached mails count, too, unless they are encoded. */
export function scanStructure(bytes: Buffer): Structure {
  return new Scan(bytes).run();
}

/**
 * Returns the header of a mail, without the empty line after it. It is cut before the first field that is too long or too
 * many.
 */
export function headerOf(bytes: Buffer): Buffer {
  let fields = 0;
  let fieldStart = 0;
  for (const { start, end } of linesOf(bytes)) {
    if (start === end) return bytes.subarray(0, start);
    const first = bytes[start];
    if (first !== SPACE && first !== TAB) {
      fields += 1;
      fieldStart = start;
    }
    const tooLong = end > MAX_HEADER_BYTES || end - fieldStart > MAX_FIELD_BYTES;
    if (tooLong || fields > MAX_FIELDS) return bytes.subarray(0, fieldStart);
  }
  return bytes;
}
