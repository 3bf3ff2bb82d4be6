/** Where a text is not JSON (RFC 8259). `JSON.parse` names the position of some mistakes only, and none by its line. */
export interface JsonFault {
  /** What is wrong, such as `"}" is unexpected`. */
  reason: string;
  /** From 1. */
  line: number;
  /** From 1, in UTF-16 units. */
  column: number;
  /** The same place from the beginning of the text, from 0. */
  offset: number;
}

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const QUOTE = '"';

/** What the scanner expects next. `first` may also be the end of the array or object. */
type Expected = 'value' | 'first value' | 'name' | 'first name' | 'colon' | 'next';

class Fault extends Error {
  readonly offset: number;

  constructor(offset: number, reason: string) {
    super(reason);
    this.offset = offset;
  }
}

/** @returns the end of the match at `at`; null if there is none */
function matchAt(pattern: RegExp, text: string, at: number): number | null {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : null;
}

function unexpected(text: string, at: number, wanted: string): Fault {
  const character = text.codePointAt(at);
  if (character === undefined) return new Fault(at, `the text ends, but ${wanted} is missing`);
  return new Fault(
    at,
    `${JSON.stringify(String.fromCodePoint(character))} is unexpected; ${wanted} is missing`,
  );
}

/** @param at the place of the opening quote. @returns the place after the closing one */
function scanString(text: string, at: number): number {
  for (let place = at + 1; place < text.length;) {
    const character = text[place] as string;
    if (character === QUOTE) return place + 1;
    if (character < ' ') throw new Fault(place, 'a text has a line break or another control character');
    const after = character === '\\' ? matchAt(ESCAPE, text, place) : place + 1;
    if (after === null) throw new Fault(place, 'a text has a backslash that begins no escape');
    place = after;
  }
  throw new Fault(at, 'a text begins, but does not end');
}

/** @returns the place after a string, number or word; null if there is none */
function scanScalar(text: string, at: number): number | null {
  if (text[at] === QUOTE) return scanString(text, at);
  return matchAt(NUMBER, text, at) ?? matchAt(WORD, text, at);
}

const WANTED: Record<Expected, string> = {
  value: 'a value',
  'first value': 'a value',
  name: 'a name in double quotes',
  'first name': 'a name in double quotes',
  colon: '":"',
  next: '"," or the end',
};

/** Scans one token after another. `open` has the closing brackets of the arrays and objects around the place. */
class Scanner {
  readonly #text: string;
  readonly #open: string[] = [];
  #at = 0;
  #expected: Expected = 'value';

  constructor(text: string) {
    this.#text = text;
  }

  /** @throws Fault if the text is not JSON */
  scan(): void {
    for (;;) {
      this.#at = matchAt(SPACE, this.#text, this.#at) ?? this.#at;
      const isComplete = this.#expected === 'next' && this.#open.length === 0;
      if (isComplete && this.#at === this.#text.length) return;
      if (isComplete) throw new Fault(this.#at, 'there is more text after the end');
      this.#scanToken();
    }
  }

  #scanToken(): void {
    const character = this.#text[this.#at];
    const isEnd = character !== undefined && character === this.#open.at(-1);
    if (isEnd && (this.#expected === 'next' || this.#expected.startsWith('first'))) {
      this.#open.pop();
      return this.#move(this.#at + 1, 'next');
    }
    switch (this.#expected) {
      case 'colon':
        return this.#moveIf(character === ':', 'value');
      case 'next':
        return this.#moveIf(character === ',', this.#open.at(-1) === '}' ? 'name' : 'value');
      case 'name':
      case 'first name':
        return this.#move(character === QUOTE ? scanString(this.#text, this.#at) : null, 'colon');
      default:
        return this.#scanValue(character);
    }
  }

  #scanValue(character: string | undefined): void {
    if (character === '{' || character === '[') {
      this.#open.push(character === '{' ? '}' : ']');
      return this.#move(this.#at + 1, character === '{' ? 'first name' : 'first value');
    }
    this.#move(scanScalar(this.#text, this.#at), 'next');
  }

  #moveIf(isExpected: boolean, next: Expected): void {
    this.#move(isExpected ? this.#at + 1 : null, next);
  }

  #move(at: number | null, next: Expected): void {
    if (at === null) throw unexpected(this.#text, this.#at, WANTED[this.#expected]);
    this.#at = at;
    this.#expected = next;
  }
}

/** @returns null if the text is JSON */
export function findJsonFault(text: string): JsonFault | null {
  try {
    new Scanner(text).scan();
    return null;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const { offset, message: reason } = error;
    const before = text.slice(0, offset);
    const lines = before.split(/\r\n|\r|\n/);
    return { reason, line: lines.length, column: (lines.at(-1) ?? '').length + 1, offset };
  }
}

/** Describes the first mistake in a text that is not JSON, and its place. */
export function describeJsonFault(text: string): string {
  const fault = findJsonFault(text);
  if (!fault) return 'it cannot be read';
  const { line, column, offset, reason } = fault;
  return `line ${line}, column ${column} (position ${offset}): ${reason}`;
}
