/** Values of MIME fields with parameters, such as `text/plain; charset=utf-8` (RFC 2045, section 5.1, and RFC 2231). */
import { decodeText } from './charset.ts';
import { decodeWords } from './encoded-words.ts';

/** A field's value. All texts have one character for each byte, so that a boundary can be compared with bytes. */
export interface Parameterized {
  /** In lower case; empty if the field begins with a parameter or is empty. */
  value: string;
  /** By name in lower case; the first of a name counts. */
  parameters: ReadonlyMap<string, string>;
  /** The character sets of values by RFC 2231, by name. */
  charsets: ReadonlyMap<string, string>;
}

const VALUE = /[ \t\r"]*([^ \t\r;,"=]*)/y;
const SEPARATORS = /[ \t\r;,]*/y;
const NAME = /([^ \t\r;,="]+)[ \t\r]*=[ \t\r]*/y;
/** A parameter after one without a semicolon: `charset=utf-8 format=flowed`. */
const NEXT_NAME = /[ \t\r][\w*-]+[ \t]*=/;
const SECTION = /^(.+?)\*(?:(\d{1,4})(\*)?)?$/;

const PIECE = /"(?:[^"\\]|\\[\s\S])*"?|[(=;]|[^"(=;]+/y;
const IN_COMMENT = /\\[\s\S]|[()]/g;

/** @returns where the comment that begins at `start` ends; -1 if it does not */
function commentEnd(field: string, start: number): number {
  let depth = 0;
  IN_COMMENT.lastIndex = start;
  for (let found = IN_COMMENT.exec(field); found; found = IN_COMMENT.exec(field)) {
    if (found[0] === '(') depth += 1;
    else if (found[0] === ')') depth -= 1;
    if (depth === 0) return found.index + 1;
  }
  return -1;
}

/** Removes comments outside of quotes. In a value, they must follow a space: `Invoice(1).pdf` has none. */
function withoutComments(field: string): string {
  if (!field.includes('(')) return field;
  const kept: string[] = [];
  let inValue = false;
  for (let at = 0; at < field.length;) {
    PIECE.lastIndex = at;
    const piece = PIECE.exec(field)?.[0] ?? field.slice(at);
    const before = kept.at(-1)?.at(-1);
    if (piece === '(' && (!inValue || before === ' ' || before === '\t')) {
      at = commentEnd(field, at);
      // A comment without an end is none, or it would hide the parameters after it.
      if (at === -1) return field;
      continue;
    }
    if (piece === '=' || piece === ';') inValue = piece === '=';
    kept.push(piece);
    at += piece.length;
  }
  return kept.join('');
}

/** Reads a quoted text. Only quotes and backslashes are escaped: some programs write paths of Windows. */
function quotedText(field: string, start: number): { text: string; end: number } {
  let at = start;
  while (at < field.length && field[at] !== '"') at += field[at] === '\\' ? 2 : 1;
  return { text: field.slice(start, at).replace(/\\(["\\])/g, '$1'), end: Math.min(at + 1, field.length) };
}

function plainText(field: string, start: number): { text: string; end: number } {
  const semicolon = field.indexOf(';', start);
  const all = field.slice(start, semicolon === -1 ? field.length : semicolon);
  const next = NEXT_NAME.exec(all);
  const text = next ? all.slice(0, next.index) : all;
  return { text: text.trimEnd(), end: start + text.length };
}

function givenParameters(field: string, start: number): Map<string, string> {
  const given = new Map<string, string>();
  for (let at = start; at < field.length;) {
    SEPARATORS.lastIndex = at;
    SEPARATORS.test(field);
    NAME.lastIndex = SEPARATORS.lastIndex;
    const found = NAME.exec(field);
    if (!found) {
      const semicolon = field.indexOf(';', SEPARATORS.lastIndex);
      if (semicolon === -1) break;
      at = semicolon + 1;
      continue;
    }
    const name = (found[1] ?? '').toLowerCase();
    const begins = found.index + found[0].length;
    const { text, end } = field[begins] === '"' ? quotedText(field, begins + 1) : plainText(field, begins);
    if (!given.has(name)) given.set(name, text);
    at = Math.max(end, at + 1);
  }
  return given;
}

interface Section {
  index: number;
  text: string;
  encoded: boolean;
}

function percentDecoded(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_all, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
}

/** Decodes the sections of a parameter. The first says in which character set they are. */
function decodeSections(sections: Section[]): { text: string; charset: string } {
  sections.sort((one, other) => one.index - other.index);
  const [first] = sections;
  const [mark = '', charset = ''] = (first?.encoded && /^([^']*)'[^']*'/.exec(first.text)) || [];
  const texts = sections.map(({ text, encoded }, index) => {
    const own = index === 0 ? text.slice(mark.length) : text;
    return encoded ? percentDecoded(own) : own;
  });
  return { text: texts.join(''), charset };
}

/** Puts the sections of RFC 2231 together. They count before a parameter with the plain name. */
function joinSections(given: ReadonlyMap<string, string>): Omit<Parameterized, 'value'> {
  const parameters = new Map<string, string>();
  const charsets = new Map<string, string>();
  const sections = new Map<string, Section[]>();
  for (const [key, text] of given) {
    const [, name, index, star] = SECTION.exec(key) ?? [];
    if (name === undefined) {
      parameters.set(key, text);
      continue;
    }
    const section = { index: Number(index ?? 0), text, encoded: index === undefined || star !== undefined };
    const list = sections.get(name);
    if (list) list.push(section);
    else sections.set(name, [section]);
  }
  for (const [name, list] of sections) {
    const { text, charset } = decodeSections(list);
    if (text === '' && parameters.has(name)) continue;
    parameters.set(name, text);
    if (charset !== '') charsets.set(name, charset);
  }
  return { parameters, charsets };
}

/** Reads a field's value. Takes what programs write: semicolons may be missing, and quotes unclosed. */
export function parseParameterized(field: string): Parameterized {
  const plain = withoutComments(field);
  VALUE.lastIndex = 0;
  const value = VALUE.exec(plain)?.[1] ?? '';
  const after = VALUE.lastIndex;
  // `charset=utf-8` alone is a parameter.
  const isName = /^[ \t\r]*=/.test(plain.slice(after, after + 100));
  return {
    value: isName ? '' : value.toLowerCase(),
    ...joinSections(givenParameters(plain, isName ? 0 : after)),
  };
}

/** Encoded: more than is kept of a name. Decoding takes time for each character set, which a mail can change a thousand times. */
const MAX_READABLE = 8 * 1024;

/** Decodes a parameter that people read, such as the name of a file. */
export function readableParameter(field: Parameterized, name: string): string | null {
  const text = field.parameters.get(name);
  if (text === undefined || text === '') return null;
  return decodeWords(
    decodeText(Buffer.from(text.slice(0, MAX_READABLE), 'latin1'), field.charsets.get(name) ?? null),
  );
}
