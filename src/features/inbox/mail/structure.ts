/**
 * Finds the parts of a mail in its bytes. It takes linear time and little memory, whatever the mail contains, and refuses
 * mail that would keep its readers busy. Nothing else decides what the parts are, whatever the size of the mail.
 */
import { linesOf, MAX_FIELD_BYTES, MAX_FIELDS, MAX_HEADER_BYTES, type Line } from './lines.ts';
import { boundaryOf, CONTENT_NAMES, readPartHeader, type PartHeader } from './part-header.ts';

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
/** A line that can only be the delimiter of a multipart body whose boundary is missing or wrong. */
const DELIMITER = /^--(\S(?:.{0,68}\S)?)[ \t]*\r?\ncontent-[a-z-]+[ \t]*:/i;
const DELIMITER_BYTES = 200;
/** Limits of the search for boundaries that are not where they should be. */
const MAX_CANDIDATES = 1_000;
const MAX_SEARCHED_BYTES = 256 * 1024 * 1024;
/** Fields that no text contains by chance. */
const KNOWN_FIELD =
  /^(?:arc-|content-|dkim-|list-|received|resent-|return-path|x-|(?:from|sender|to|cc|subject|date|reply-to|message-id|in-reply-to|references|mime-version)[ \t]*:)/gim;

/** The body of a part that has no parts of its own. */
export interface Leaf {
  /** The bytes of the body, without the line break before the next delimiter. */
  start: number;
  end: number;
  header: PartHeader;
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

/** @returns where the last known field before the first empty line begins; -1 if there is none */
function lastFieldIn(text: string): number {
  const end = text.search(/\n\r*\n/);
  const fields = [...(end === -1 ? text : text.slice(0, end)).matchAll(KNOWN_FIELD)];
  return fields.at(-1)?.index ?? -1;
}

class Scan {
  readonly #bytes: Buffer;
  #bareLines = 0;
  #leaves: Leaf[] = [];
  #parts = 1;
  /** Levels of parts around the current one. */
  #level = 0;
  #open: OpenPart[] = [];
  readonly #multiparts: OpenPart[] = [];
  #inHeader = true;
  /** The body that is being read; null after the last part of a multipart body. */
  #leaf: Leaf | null = null;
  #headerStart = 0;
  #fieldStart = 0;
  #fields = 0;
  /** The content fields of the current header, by name. */
  #content = new Map<string, string>();
  /** The content field whose lines are being read. */
  #field: string | null = null;
  /** Where the last field of the mail's header begins, if a line before it is no field. */
  #lastField: number | null = null;
  #searchedBytes = 0;
  #candidates = 0;
  #alternatives = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  run(): Structure {
    let lines = 0;
    for (const line of linesOf(this.#bytes)) {
      lines += 1;
      if (this.#isBare(line)) this.#bareLines += 1;
      let problem = this.#delimiterLine(line);
      if (problem === null && this.#inHeader) problem = this.#headerLine(line);
      if (lines > MAX_LINES) problem = `the mail has more than ${MAX_LINES.toLocaleString('en')} lines`;
      if (problem) return { problem, leaves: [], bareLines: this.#bareLines };
    }
    const isEmpty = this.#open.length > 0 && this.#headerStart === this.#bytes.length;
    if (this.#inHeader && !isEmpty) this.#beginBody(this.#bytes.length);
    this.#endLeaf(this.#bytes.length);
    return { problem: null, leaves: this.#shownLeaves(), bareLines: this.#bareLines };
  }

  #isBare({ next }: Line): boolean {
    return this.#bytes[next - 1] === LF && this.#bytes[next - 2] !== CR;
  }

  /** All leaves, without the texts before the first part of a body. */
  #shownLeaves(): Leaf[] {
    const hidden = new Set<Leaf>();
    for (const { parts, preamble } of this.#multiparts) {
      const isEmpty = parts === 0 && this.#text(preamble.start, preamble.end).trim() === '';
      if (parts > 0 || isEmpty) hidden.add(preamble);
    }
    return hidden.size === 0 ? this.#leaves : this.#leaves.filter((leaf) => !hidden.has(leaf));
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
    part.closed = found.last;
    this.#leaf = null;
    this.#inHeader = !found.last;
    if (found.last) {
      this.#level = part.level;
      return '';
    }
    part.parts += 1;
    this.#beginHeader(line.next);
    return this.#enter(part.level + 1);
  }

  /** Finds the multipart body that a delimiter line belongs to: the innermost that has not ended, if there is one. */
  #delimited({ start, end }: Line): { index: number; last: boolean } | null {
    if (end - start < 3 || this.#bytes[start] !== HYPHEN || this.#bytes[start + 1] !== HYPHEN) return null;
    let ended: { index: number; last: boolean } | null = null;
    for (let index = this.#open.length - 1; index >= 0; index -= 1) {
      const { boundary, closed } = this.#open[index] as OpenPart;
      const after = start + 2 + boundary.length;
      if (after > end || this.#bytes.compare(boundary, 0, boundary.length, start + 2, after) !== 0) continue;
      const rest = this.#text(after, Math.min(end, after + 100)).trimEnd();
      if (rest !== '' && rest !== '--') continue;
      if (!closed) return { index, last: rest === '--' };
      ended ??= { index, last: rest === '--' };
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

  /** Whether a line goes on with the field before it. Some programs forget the space at the beginning. */
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
  }

  /** Ends the header. @param start where the body begins */
  #beginBody(start: number): void {
    this.#inHeader = false;
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
      alternative:
        alternative === null ? null : { index: alternative, direct: parent?.subtype === 'alternative' },
      related: parent?.related ?? false,
    };
    this.#leaf = leaf;
    this.#leaves.push(leaf);
    if (!header.type.startsWith('multipart/')) return;
    const subtype = header.type.slice('multipart/'.length);
    leaf.header = { ...header, type: 'text/plain' };
    const boundary = this.#findBoundary(start);
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

  /** The boundary that a multipart body names or, if it is missing or wrong, the one that its first part shows. */
  #findBoundary(start: number): string {
    const named = boundaryOf(this.#content);
    if (named !== '' && this.#find(`--${named}`, start) !== -1) return named;
    return this.#shownBoundary(start) ?? named;
  }

  #shownBoundary(start: number): string | null {
    for (let at = start; at !== 0 && this.#candidates < MAX_CANDIDATES; at = this.#find('\n--', at) + 1) {
      this.#candidates += 1;
      const shown = DELIMITER.exec(this.#text(at, at + DELIMITER_BYTES))?.[1];
      if (shown === undefined) continue;
      return this.#open.some(({ boundary }) => boundary.toString('latin1') === shown) ? null : shown;
    }
    return null;
  }

  /** @returns where a text is; -1 if there is none; `start` if the mail has been searched too often */
  #find(text: string, start: number): number {
    if (this.#searchedBytes > MAX_SEARCHED_BYTES) return start;
    const at = this.#bytes.indexOf(text, start, 'latin1');
    this.#searchedBytes += (at === -1 ? this.#bytes.length : at) - start;
    return at;
  }

  #enter(level: number): string {
    this.#level = level;
    this.#parts += 1;
    if (this.#parts > MAX_PARTS) return `the mail has more than ${MAX_PARTS.toLocaleString('en')} parts`;
    return level > MAX_LEVELS ? `parts are nested more than ${MAX_LEVELS} levels deep` : '';
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
