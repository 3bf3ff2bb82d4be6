/**
 * Renders contents that only have outputs (`{{ … }}`, no tags) on the caller's thread, in linear time: parsed once into
 * constants and slots. Its results are those of the Liquid library, which renders all other contents in a thread.
 */
import { checkRenderedLength, type ContentValues } from './content.ts';
import { createFilters, type Filter, type Mode } from './filters.ts';
import { scanHtml } from './html-scan.ts';
import { isServiceName } from './names.ts';
import { enforceUrls, hasAllowedScheme, isAllowedUrl, NO_URL, type UrlKind } from './urls.ts';
import { escapeHtml, headerText, headerValue, textOf, withoutControls } from './values.ts';

/** Longer texts are parsed and rendered in a thread. */
const MAX_LENGTH = 256 * 1024;
const MAX_SLOTS = 500;
const MAX_FILTERS = 20;
const MAX_ARGS = 10;
/** Characters and elements that the filters and outputs of one batch may read on the caller's thread. */
const MAX_READ = 512 * 1024;
const MAX_DEPTH = 5;

type Key = string | number;
type Operand = { literal: unknown } | { path: readonly Key[] };

interface Output {
  source: string;
  from: Operand;
  filters: readonly { filter: Filter; args: readonly Operand[] }[];
  /** Its result is HTML. */
  isHtml: boolean;
}

/** A message needs more than the caller's thread may spend on it, or has left to spend. */
export class ReadLimitError extends Error {}

/** Counts what the filters and outputs of one message or batch read. */
export class ReadLimit {
  #left = MAX_READ;

  /** @throws ReadLimitError */
  use(amount: number): void {
    if (amount > this.#left) throw new ReadLimitError('the values are too large for this thread');
    this.#left -= amount;
  }
}

/** How much a filter reads of a value, about. */
function weightOf(value: unknown, depth = 0): number {
  if (typeof value === 'string') return value.length + 1;
  if (!Array.isArray(value) || depth > MAX_DEPTH) return 1;
  return value.reduce((sum: number, each) => sum + weightOf(each, depth + 1), 1);
}

/** A place for a value: one output, or an attribute with a URL, whose scheme is checked when it is known. */
export interface Slot {
  /** Around the outputs: constant n stands before output n. */
  constants: readonly string[];
  outputs: readonly Output[];
  url: UrlKind | null;
}

/** A content: constant n stands before slot n. */
export interface Pieces {
  constants: readonly string[];
  slots: readonly Slot[];
  /** An output may add HTML, with URLs of its own. */
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
/** Names that mean something else in Liquid. */
const RESERVED = new Set(['empty', 'blank', 'and', 'or', 'not', 'contains']);
const NUMBER = /-?\d{1,15}(?:\.\d{1,15})?(?![\w.])/y;
const STRING = /'([^'\\]*)'|"([^"\\]*)"/y;
const INDEX = /\[(?:(\d{1,6})|'([^'\\]*)'|"([^"\\]*)")\]/y;

/** Reads the inside of an output. All that it does not know is left to the library. */
class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** @returns null if the library has to read it */
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

/** Where the output that begins at `start` ends, behind its brackets; -1: it does not, or has a quote that is open. */
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
 * @returns null if the library has to render it: a scheme begins with a constant, there are several URLs, or a URL has a
 *   raw value
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
    // A raw value may end the attribute, and what follows is then no part of the URL.
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
    // What is left of the constant stands before the next slot.
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
  const parsed = parseOutputs(liquid, mode);
  if (!parsed) return null;
  if (mode === 'html') return joinUrls(parsed);
  const slots = parsed.outputs.map((output) => ({ constants: ['', ''], outputs: [output], url: null }));
  return { constants: parsed.constants, slots, hasRawHtml: false };
}

function property(value: unknown, key: Key, limit: ReadLimit): unknown {
  if (value === null || value === undefined) return undefined;
  if (typeof value !== 'object' && typeof value !== 'string') return undefined;
  if (Object.hasOwn(value as object, key)) return (value as Record<Key, unknown>)[key];
  if (key === 'size') {
    if (typeof value === 'string' || Array.isArray(value)) return value.length;
    const { length } = Object.keys(value);
    limit.use(length);
    return length;
  }
  if (!Array.isArray(value)) return undefined;
  if (key === 'first') return value[0] as unknown;
  return key === 'last' ? (value.at(-1) as unknown) : undefined;
}

function valueOf(operand: Operand, values: ContentValues, limit: ReadLimit): unknown {
  if ('literal' in operand) return operand.literal;
  const { path } = operand;
  const name = path[0] as string;
  let value = isServiceName(name)
    ? values[name as keyof ContentValues]
    : property(values.variables, name, limit);
  for (let n = 1; n < path.length; n += 1) value = property(value, path[n] as Key, limit);
  return value;
}

interface Rendered {
  text: string;
  escaped: string;
}

function renderOutput(
  { from, filters: used, isHtml }: Output,
  values: ContentValues,
  mode: Mode,
  limit: ReadLimit,
): Rendered {
  let value = valueOf(from, values, limit);
  for (const { filter, args } of used) {
    const given = args.map((arg) => valueOf(arg, values, limit));
    limit.use(weightOf(value) + weightOf(given));
    value = filter.run(value, given, mode);
  }
  limit.use(weightOf(value));
  const text = textOf(value);
  if (mode === 'text') return { text, escaped: withoutControls(text) };
  if (mode === 'header') return { text, escaped: headerValue(text) };
  return { text, escaped: isHtml ? text : escapeHtml(text) };
}

/** How many filters the outputs have together. */
export function countFilters({ slots }: Pieces): number {
  return slots.reduce(
    (sum, { outputs }) => outputs.reduce((inner, output) => inner + output.filters.length, sum),
    0,
  );
}

/** The text of a slot for one message, escaped for its place. @throws ReadLimitError */
export function slotText(
  { constants, outputs, url }: Slot,
  values: ContentValues,
  mode: Mode,
  limit: ReadLimit,
): string {
  let { text, escaped } = { text: constants[0] ?? '', escaped: constants[0] ?? '' };
  for (const [n, output] of outputs.entries()) {
    const rendered = renderOutput(output, values, mode, limit);
    const constant = constants[n + 1] ?? '';
    text += rendered.text + constant;
    escaped += rendered.escaped + constant;
  }
  // An entity in a constant is not decoded here: no allowed beginning has one.
  return url !== null && !isAllowedUrl(text, url) ? NO_URL : escaped;
}

/**
 * Renders a text for one message.
 * @throws RenderError if the result is too long
 * @throws ReadLimitError if it has to be rendered in a thread
 */
export function renderPieces(
  pieces: Pieces,
  values: ContentValues,
  mode: Mode,
  limit = new ReadLimit(),
): string {
  const { constants, slots, hasRawHtml } = pieces;
  let text = constants[0] ?? '';
  for (const [n, slot] of slots.entries()) {
    text += slotText(slot, values, mode, limit) + (constants[n + 1] ?? '');
    checkRenderedLength(text.length);
  }
  // As a whole: an empty value may stand between two line breaks.
  if (mode === 'header') return headerText(text);
  return hasRawHtml ? enforceUrls(text) : text;
}
