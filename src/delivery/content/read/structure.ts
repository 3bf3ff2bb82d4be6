/**
 * Finds the parts of a mail in its bytes. It takes linear time and little memory, whatever the mail contains, and refuses
 * mail that would keep its readers busy. Nothing else decides what the parts are, whatever the size of the mail.
 */
import { BoundarySearch } from './boundary-search.ts';
import { lastFieldIn, linesOf, MAX_FIELD_BYTES, MAX_FIELDS, MAX_HEADER_BYTES, type Line } from './lines.ts';
import {
  boundaryOf,
  CONTENT_NAMES,
  type ContentFields,
  readPartHeader,
  type PartHeader,
} from './part-header.ts';

const MAX_PARTS = 1_000;
/** A mail of 25 MB has 350,000 lines of the usual length. */
const MAX_LINES = 1_000_000;
const MAX_LEVELS = 100;

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const HYPHEN = 0x2d;

/** RFC 5322, section 3.6.8; programs also write spaces before the colon. */
const FIELD = /^([!-9;-~]+)[ \t]*:/;
const MAX_NAME_BYTES = 200;
const PARAMETER = /^[\w*-]+[ \t]*=/;
/** A text that begins with so many blanks is not looked at further. */
const BLANK_BYTES = 64 * 1024;
/** Names of fields that are not read. */
const MAX_UNREAD = 20;

/** The body of a part that has no parts of its own. */
export interface Leaf {
  /** The bytes of the body, without the line break before the next delimiter. */
  start: number;
  end: number;
  header: PartHeader;
  /** The content fields that `header` was read from. */
  fields: ContentFields;
  /** The closest `multipart/alternative` around it, by number, and whether it is directly in it; null: none. */
  alternative: { index: number; direct: boolean } | null;
  /** It is in a `multipart/related`. */
  related: boolean;
}

export interface Structure {
  /** Why the mail must not be read further; null if it may be. */
  problem: string | null;
  /** In order. */
  leaves: Leaf[];
  /** The texts before and after the parts of a body, which other programs leave out. */
  outside: Leaf[];
  /** The multipart bodies in order: their subtypes in lower case, such as `mixed`. */
  multiparts: string[];
  /** Names of further content fields of its parts, such as `content-description`; each once, and not all of very many. */
  unread: string[];
  /** Where the body begins, after the empty line that ends the header of the mail. */
  bodyStart: number;
  /** Lines that end with LF alone. */
  bareLines: number;
}

/** A multipart body. */
interface OpenPart {
  boundary: Buffer;
  level: number;
  subtype: string;
  /** The closest `multipart/alternative`, which may be itself. */
  alternative: number | null;
  related: boolean;
  /** Its last delimiter has come. Some mails have further parts after it. */
  closed: boolean;
  parts: number;
  /** The text before its first part, which is shown if there is none. */
  preamble: Leaf;
}

const NOTHING_READ = { leaves: [], outside: [], multiparts: [], unread: [], bodyStart: 0 };

class Scan {
  readonly #bytes: Buffer;
  readonly #search: BoundarySearch;
  #bareLines = 0;
  #leaves: Leaf[] = [];
  #parts = 1;
  /** Levels of parts around the current one. */
  #level = 0;
  #open: OpenPart[] = [];
  readonly #multiparts: OpenPart[] = [];
  #inHeader = true;
  readonly #afterParts: Leaf[] = [];
  /** The body that is being read; null in a header. */
  #leaf: Leaf | null = null;
  #headerStart = 0;
  /** Of the mail; negative in its header. */
  #bodyStart = -1;
  #fieldStart = 0;
  #fields = 0;
  /** The content fields of the current header, by name. */
  #content = new Map<string, string>();
  /** The content field whose lines are being read. */
  #field: string | null = null;
  /** Where the last field of the mail's header begins, if a line before it is no field. */
  #lastField: number | null = null;
  #alternatives = 0;
  readonly #unread = new Set<string>();

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#search = new BoundarySearch(bytes);
  }

  run(): Structure {
    let lines = 0;
    for (const line of linesOf(this.#bytes)) {
      lines += 1;
      if (this.#isBare(line)) this.#bareLines += 1;
      let problem = this.#delimiterLine(line);
      if (problem === null && this.#inHeader) problem = this.#headerLine(line);
      if (lines > MAX_LINES) problem = `the mail has more than ${MAX_LINES.toLocaleString('en')} lines`;
      if (problem) return { problem, ...NOTHING_READ, bareLines: this.#bareLines };
    }
    const isEmpty = this.#open.length > 0 && this.#headerStart === this.#bytes.length;
    if (this.#inHeader && !isEmpty) this.#beginBody(this.#bytes.length);
    this.#endLeaf(this.#bytes.length);
    return {
      problem: null,
      ...this.#sortedLeaves(),
      multiparts: this.#multiparts.map(({ subtype }) => subtype),
      unread: [...this.#unread],
      bodyStart: this.#bodyStart,
      bareLines: this.#bareLines,
    };
  }

  #isBare({ next }: Line): boolean {
    return this.#bytes[next - 1] === LF && this.#bytes[next - 2] !== CR;
  }

  /** A text before parts is a part itself if the others are missing. */
  #sortedLeaves(): Pick<Structure, 'leaves' | 'outside'> {
    const outside = new Set(this.#afterParts);
    for (const { parts, preamble } of this.#multiparts) {
      if (parts > 0 || this.#isBlank(preamble)) outside.add(preamble);
    }
    return outside.size === 0
      ? { leaves: this.#leaves, outside: [] }
      : {
          leaves: this.#leaves.filter((leaf) => !outside.has(leaf)),
          outside: [...outside].filter((leaf) => !this.#isBlank(leaf)),
        };
  }

  #isBlank({ start, end }: Leaf): boolean {
    return this.#text(start, Math.min(end, start + BLANK_BYTES)).trim() === '';
  }

  /** @returns null if the line is no delimiter; else what is wrong, or an empty text */
  #delimiterLine(line: Line): string | null {
    if (this.#open.length === 0) return null;
    const found = this.#delimited(line);
    if (!found) return null;
    // Two delimiters without anything between them have no part between them either.
    const isRepeated = this.#inHeader && line.start === this.#headerStart;
    if (this.#inHeader && !isRepeated) this.#beginBody(line.start);
    this.#endLeaf(line.start);
    const part = this.#open[found.index] as OpenPart;
    this.#open.length = found.index + 1;
    // After another end, another text begins.
    if (part.closed && found.last) this.#parts += 1;
    part.closed = found.last;
    this.#inHeader = !found.last;
    if (found.last) {
      this.#level = part.level;
      this.#leaf = { ...part.preamble, start: line.next, end: line.next };
      this.#afterParts.push(this.#leaf);
      return this.#tooManyParts();
    }
    this.#leaf = null;
    part.parts += 1;
    this.#beginHeader(line.next);
    return this.#enter(part.level + 1);
  }

  /** Finds the multipart body that a delimiter line belongs to: the innermost that has not ended, if there is one. */
  #delimited({ start, end }: Line): { index: number; last: boolean } | null {
    if (end - start < 3 || this.#bytes[start] !== HYPHEN || this.#bytes[start + 1] !== HYPHEN) return null;
    let stop = end;
    while (stop > start && (this.#bytes[stop - 1] as number) <= SPACE) stop -= 1;
    const hasHyphens = this.#bytes[stop - 1] === HYPHEN && this.#bytes[stop - 2] === HYPHEN;
    let ended: { index: number; last: boolean } | null = null;
    for (let index = this.#open.length - 1; index >= 0; index -= 1) {
      const { boundary, closed } = this.#open[index] as OpenPart;
      const after = start + 2 + boundary.length;
      // The lengths are compared first: a line may have a hundred bodies around it.
      const last = hasHyphens && after === stop - 2;
      if (after !== stop && !last) continue;
      if (this.#bytes.compare(boundary, 0, boundary.length, start + 2, after) !== 0) continue;
      if (!closed) return { index, last };
      ended ??= { index, last };
    }
    return ended;
  }

  /** @param at where the next delimiter or the end of the mail is. The line break before a delimiter is part of it */
  #endLeaf(at: number): void {
    if (this.#leaf === null) return;
    let end = at;
    if (this.#open.length > 0 && this.#bytes[end - 1] === LF) end -= this.#bytes[end - 2] === CR ? 2 : 1;
    this.#leaf.end = Math.max(this.#leaf.start, end);
  }

  #headerLine(line: Line): string | null {
    const { start, end, next } = line;
    if (end - this.#headerStart > MAX_HEADER_BYTES)
      return `a header has more than ${MAX_HEADER_BYTES / 1024} KB`;
    if (start === end) {
      this.#beginBody(next);
      return null;
    }
    const name = this.#fieldName(start, end);
    if (name === null && !this.#continues(line)) {
      this.#field = null;
      if (this.#belongsToHeader(line)) return null;
      this.#beginBody(start);
      return this.#delimiterLine(line);
    }
    if (name !== null) this.#beginField(start, end, name);
    else if (this.#field !== null) {
      this.#content.set(this.#field, `${this.#content.get(this.#field)}${this.#text(start, end)}`);
    }
    if (end - this.#fieldStart > MAX_FIELD_BYTES) return `a field has more than ${MAX_FIELD_BYTES / 1024} KB`;
    return this.#fields > MAX_FIELDS
      ? `a header has more than ${MAX_FIELDS.toLocaleString('en')} fields`
      : null;
  }

  /** @returns the part of a line before the colon; null if the line begins no field */
  #fieldName(start: number, end: number): string | null {
    return FIELD.exec(this.#text(start, Math.min(end, start + MAX_NAME_BYTES)))?.[0] ?? null;
  }

  /** Whether a line continues the field before it. Some programs forget the space at the beginning. */
  #continues({ start, end }: Line): boolean {
    const first = this.#bytes[start];
    if (first === SPACE || first === TAB) return this.#fields > 0;
    const before = this.#field === null ? '' : (this.#content.get(this.#field) ?? '');
    if (!before.trimEnd().endsWith(';')) return false;
    return PARAMETER.test(this.#text(start, Math.min(end, start + MAX_NAME_BYTES)));
  }

  /**
   * Whether a line that is no field is in the header nevertheless, since fields follow it. That is so only in the header of
   * the mail, where servers read the fields up to the first empty line. A part has lost its empty line.
   */
  #belongsToHeader({ start }: Line): boolean {
    if (this.#open.length > 0) return false;
    if (this.#bytes[start] === HYPHEN && this.#bytes[start + 1] === HYPHEN) return false;
    this.#lastField ??= lastFieldIn(this.#text(start, start + MAX_HEADER_BYTES)) + start;
    return start < this.#lastField;
  }

  #beginField(start: number, end: number, mark: string): void {
    this.#fieldStart = start;
    this.#fields += 1;
    const key = mark.slice(0, -1).trimEnd().toLowerCase();
    this.#field = !CONTENT_NAMES.has(key) || this.#content.has(key) ? null : key;
    if (this.#field !== null) this.#content.set(key, this.#text(start + mark.length, end));
    // In the header of the mail, all fields are read elsewhere.
    const isUnread = this.#open.length > 0 && key.startsWith('content-') && !CONTENT_NAMES.has(key);
    if (isUnread && this.#unread.size < MAX_UNREAD) this.#unread.add(key);
  }

  /** Ends the header. @param start where the body begins */
  #beginBody(start: number): void {
    this.#inHeader = false;
    if (this.#bodyStart < 0) this.#bodyStart = start;
    const parent = this.#open.at(-1);
    const header = readPartHeader(
      this.#content,
      parent?.subtype === 'digest' ? 'message/rfc822' : 'text/plain',
    );
    const alternative = parent?.alternative ?? null;
    const leaf: Leaf = {
      start,
      end: start,
      header,
      fields: this.#content,
      alternative:
        alternative === null ? null : { index: alternative, direct: parent?.subtype === 'alternative' },
      related: parent?.related ?? false,
    };
    this.#leaf = leaf;
    this.#leaves.push(leaf);
    if (!header.type.startsWith('multipart/')) return;
    const subtype = header.type.slice('multipart/'.length);
    leaf.header = { ...header, type: 'text/plain' };
    const boundary = this.#search.boundaryIn(
      start,
      boundaryOf(this.#content),
      this.#open.map((part) => part.boundary),
    );
    if (boundary !== '') this.#openPart(leaf, boundary, subtype);
  }

  #openPart(preamble: Leaf, boundary: string, subtype: string): void {
    const isAlternative = subtype === 'alternative';
    if (isAlternative) this.#alternatives += 1;
    const part: OpenPart = {
      boundary: Buffer.from(boundary, 'latin1'),
      level: this.#level,
      subtype,
      alternative: isAlternative ? this.#alternatives : (preamble.alternative?.index ?? null),
      related: preamble.related || subtype === 'related',
      closed: false,
      parts: 0,
      preamble,
    };
    this.#open.push(part);
    this.#multiparts.push(part);
  }

  #enter(level: number): string {
    this.#level = level;
    this.#parts += 1;
    return level > MAX_LEVELS ? `parts are nested more than ${MAX_LEVELS} levels deep` : this.#tooManyParts();
  }

  /** @returns what is wrong, or an empty text */
  #tooManyParts(): string {
    return this.#parts > MAX_PARTS ? `the mail has more than ${MAX_PARTS.toLocaleString('en')} parts` : '';
  }

  #beginHeader(start: number): void {
    this.#headerStart = start;
    this.#fieldStart = start;
    this.#fields = 0;
    this.#content = new Map();
    this.#field = null;
  }

  #text(start: number, end: number): string {
    return this.#bytes.toString('latin1', start, end);
  }
}

/** Scans a mail. An attached mail is a leaf. */
export function scanStructure(bytes: Buffer): Structure {
  return new Scan(bytes).run();
}
