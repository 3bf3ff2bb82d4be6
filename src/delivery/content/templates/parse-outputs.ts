/**
 * Parses contents that have only outputs (`{{ … }}`, no tags) into constants and slots, which `render-outputs.ts`
 * fills. Anything that this parser does not support is left to the Liquid library.
 */
import { createFilters, type Filter, type Mode, withoutEmptyBrackets } from './filters.ts';
import { scanHtml } from '../mime/html-scan.ts';
import { hasAllowedScheme, type UrlKind } from './urls.ts';

/** Maximum length of a text that is parsed on the caller's thread. */
const MAX_LENGTH = 256 * 1024;
const MAX_SLOTS = 500;
const MAX_FILTERS = 20;
const MAX_ARGS = 10;

export type Key = string | number;
export type Operand = { literal: unknown } | { path: readonly Key[] };

export interface Output {
  source: string;
  from: Operand;
  filters: readonly { filter: Filter; args: readonly Operand[] }[];
  /** Its result is HTML. */
  isHtml: boolean;
}

/** A place for a value: one output, or an attribute with a URL, whose scheme is checked when it is rendered. */
export interface Slot {
  /** The constants around the outputs: constant n precedes output n. */
  constants: readonly string[];
  outputs: readonly Output[];
  url: UrlKind | null;
}

/** A parsed content: constant n precedes slot n. */
export interface Pieces {
  constants: readonly string[];
  slots: readonly Slot[];
  /** Whether an output may insert HTML, with URLs of its own. */
  hasRawHtml: boolean;
}

const filters = createFilters();

const SPACE = /[ \t\r\n]*/y;
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const KEYWORD = new Map<string, unknown>([
  ['true', true],
  ['false', false],
  ['nil', null],
  ['null', null],
]);
/** Names with a special meaning in Liquid. */
const RESERVED = new Set(['empty', 'blank', 'and', 'or', 'not', 'contains']);
const NUMBER = /-?\d{1,15}(?:\.\d{1,15})?(?![\w.])/y;
const STRING = /'([^'\\]*)'|"([^"\\]*)"/y;
const INDEX = /\[(?:(\d{1,6})|'([^'\\]*)'|"([^"\\]*)")\]/y;

/** Parses the inside of an output. Anything unsupported is left to the library. */
class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** @returns null if the library has to parse it */
  output(mode: Mode): Output | null {
    const from = this.#operand();
    if (!from) return null;
    const found: { filter: Filter; args: Operand[] }[] = [];
    while (this.#skip('|')) {
      const name = this.#match(NAME)?.[0];
      if (name === undefined || !Object.hasOwn(filters, name) || found.length === MAX_FILTERS) return null;
      const args = this.#args();
      if (!args) return null;
      found.push({ filter: filters[name] as Filter, args });
    }
    if (!this.#atEnd()) return null;
    return {
      source: this.#text.trim(),
      from,
      filters: found,
      isHtml: mode === 'html' && found.at(-1)?.filter.returnsHtml === true,
    };
  }

  #args(): Operand[] | null {
    const args: Operand[] = [];
    if (!this.#skip(':')) return args;
    do {
      const operand = this.#operand();
      if (!operand || args.length === MAX_ARGS) return null;
      args.push(operand);
    } while (this.#skip(','));
    return args;
  }

  #operand(): Operand | null {
    this.#match(SPACE);
    const string = this.#match(STRING);
    if (string) return { literal: string[1] ?? string[2] };
    const number = this.#match(NUMBER);
    if (number) return { literal: Number(number[0]) };
    const name = this.#match(NAME)?.[0];
    if (name === undefined || RESERVED.has(name)) return null;
    const path = this.#path(name);
    if (!path) return null;
    if (KEYWORD.has(name)) return path.length === 1 ? { literal: KEYWORD.get(name) } : null;
    return { path };
  }

  #path(name: string): Key[] | null {
    const path: Key[] = [name];
    for (;;) {
      const index = this.#match(INDEX);
      if (index) path.push(index[1] === undefined ? (index[2] ?? index[3] ?? '') : Number(index[1]));
      else if (this.#text[this.#at] === '.') {
        this.#at += 1;
        const key = this.#match(NAME)?.[0];
        if (key === undefined) return null;
        path.push(key);
      } else return path;
    }
  }

  #skip(character: string): boolean {
    this.#match(SPACE);
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    this.#match(SPACE);
    return true;
  }

  #atEnd(): boolean {
    this.#match(SPACE);
    return this.#at === this.#text.length;
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found) this.#at = pattern.lastIndex;
    return found;
  }
}

/** @returns the position after the output that begins at `start`; -1 if it does not end, or has an open quote */
function endOfOutput(text: string, start: number): number {
  let quote = '';
  for (let at = start + 2; at < text.length; at += 1) {
    const character = text[at] as string;
    if (quote !== '') {
      if (character === quote) quote = '';
    } else if (character === '"' || character === "'") quote = character;
    else if (character === '}' && text[at + 1] === '}') return at + 2;
  }
  return -1;
}

interface Parsed {
  constants: string[];
  outputs: Output[];
}

/** @returns null if the library has to render it */
function parseOutputs(liquid: string, mode: Mode): Parsed | null {
  if (liquid.length > MAX_LENGTH || liquid.includes('{%')) return null;
  const constants: string[] = [];
  const outputs: Output[] = [];
  let at = 0;
  let trim = false;
  for (;;) {
    const start = liquid.indexOf('{{', at);
    let constant = liquid.slice(at, start < 0 ? undefined : start);
    if (trim) constant = constant.trimStart();
    if (start < 0) {
      constants.push(constant);
      return { constants, outputs };
    }
    const end = endOfOutput(liquid, start);
    if (end < 0 || outputs.length === MAX_SLOTS) return null;
    let inner = liquid.slice(start + 2, end - 2);
    if (inner.startsWith('-')) {
      constant = constant.trimEnd();
      inner = inner.slice(1);
    }
    trim = inner.endsWith('-');
    const output = new Reader(trim ? inner.slice(0, -1) : inner).output(mode);
    if (!output) return null;
    constants.push(constant);
    outputs.push(output);
    at = end;
  }
}

/** Stands for an output while HTML is scanned. */
const MARK = 'x';

/**
 * Joins the outputs of a URL into one slot, if its scheme is not known before they are rendered.
 * @returns null if the library has to render it: a constant contains the beginning of the scheme, there are several
 *   URLs, or a URL has a raw value
 */
function joinUrls({ constants, outputs }: Parsed): Pieces | null {
  const joined = constants.join(MARK);
  const marks: number[] = [];
  let length = 0;
  for (const constant of constants) {
    length += constant.length;
    marks.push(length);
    length += MARK.length;
  }
  const { urls } = scanHtml(joined);
  const pieces: { constants: string[]; slots: Slot[] } = { constants: [], slots: [] };
  let next = 0;
  const single = () => {
    pieces.constants.push(constants[next] ?? '');
    pieces.slots.push({ constants: ['', ''], outputs: [outputs[next] as Output], url: null });
    next += 1;
  };
  for (const { start, end, kind, name } of urls.toSorted((one, other) => one.start - other.start)) {
    while (next < outputs.length && (marks[next] as number) < start) single();
    const first = next;
    let last = next;
    while (last < outputs.length && (marks[last] as number) < end) last += 1;
    if (last === first || hasAllowedScheme(joined.slice(start, marks[first]), kind)) continue;
    const lead = (marks[first] as number) - start;
    const constant = constants[first] as string;
    if (name === 'srcset' || constant.slice(constant.length - lead).trim() !== '') return null;
    // A raw value may end the attribute; what follows would then not be part of the URL.
    if (outputs.slice(first, last).some(({ isHtml }) => isHtml)) return null;
    const behind = constants[last] as string;
    const rest = end - (marks[last - 1] as number) - MARK.length;
    pieces.constants.push(constant.slice(0, constant.length - lead));
    const inner = [constant.slice(constant.length - lead), ...constants.slice(first + 1, last)];
    pieces.slots.push({
      constants: [...inner, behind.slice(0, rest)],
      outputs: outputs.slice(first, last),
      url: kind,
    });
    // The rest of the constant precedes the next slot.
    constants[last] = behind.slice(rest);
    next = last;
  }
  while (next < outputs.length) single();
  pieces.constants.push(constants[next] ?? '');
  return { ...pieces, hasRawHtml: outputs.some(({ isHtml, filters: used }) => isHtml && isRaw(used)) };
}

function isRaw(used: Output['filters']): boolean {
  return used.at(-1)?.filter === filters['raw'];
}

/**
 * Parses a compiled text.
 * @returns null if it has tags, is long, or has an expression that the Liquid library has to evaluate
 */
export function parsePieces(liquid: string, mode: Mode): Pieces | null {
  const parsed = parseOutputs(mode === 'text' ? withoutEmptyBrackets(liquid) : liquid, mode);
  if (!parsed) return null;
  if (mode === 'html') return joinUrls(parsed);
  const slots = parsed.outputs.map((output) => ({ constants: ['', ''], outputs: [output], url: null }));
  return { constants: parsed.constants, slots, hasRawHtml: false };
}

/** Total number of filters in the outputs. */
export function countFilters({ slots }: Pieces): number {
  return slots.reduce(
    (sum, { outputs }) => outputs.reduce((inner, output) => inner + output.filters.length, sum),
    0,
  );
}
