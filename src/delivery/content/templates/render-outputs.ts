/**
 * Renders contents that have only outputs (`{{ … }}`, no tags) on the caller's thread, in linear time, from what
 * `parse-outputs.ts` has parsed once. The results equal those of the Liquid library, which renders all other contents
 * in a thread.
 */
import { checkRenderedLength, type ContentValues } from './content.ts';
import type { Mode } from './filters.ts';
import { isServiceName } from './names.ts';
import type { Key, Operand, Output, Pieces, Slot } from './parse-outputs.ts';
import { enforceUrls, isAllowedUrl, NO_URL } from './urls.ts';
import { escapeValue, headerText, headerValue, textOf, withoutControls } from './values.ts';

/**
 * Maximum number of characters and elements that the filters and outputs of one batch may read on the caller's thread.
 */
const MAX_READ = 512 * 1024;
const MAX_DEPTH = 5;

/** Rendering a message would exceed the limit for the caller's thread. */
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

/** Approximately how much of a value a filter reads. */
function weightOf(value: unknown, depth = 0): number {
  if (typeof value === 'string') return value.length + 1;
  if (!Array.isArray(value) || depth > MAX_DEPTH) return 1;
  return value.reduce((sum: number, each) => sum + weightOf(each, depth + 1), 1);
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
  return { text, escaped: isHtml ? text : escapeValue(text) };
}

/** Renders a slot for one message, escaped for its place. @throws ReadLimitError */
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
  // Entities in constants need not be decoded: no allowed scheme contains one.
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
  // Trimmed as a whole: an empty value may be between two line breaks.
  if (mode === 'header') return headerText(text);
  return hasRawHtml ? enforceUrls(text) : text;
}
