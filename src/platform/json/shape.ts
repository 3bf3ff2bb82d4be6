/**
 * Limits what JSON text may contain, before it is parsed: parser and validators need time for each value and name, up
 * to several seconds for 5 MB. Strings are cheap, however long.
 */

/** Maximum depth, because the code that reads lists and objects is recursive. */
export const MAX_LEVELS = 100;
/** Maximum number of values in the whole text: twice the largest list that a request may have. */
export const MAX_VALUES = 20_000;
/** Maximum number of names in one object, which is slower to build and to read than a list. */
export const MAX_NAMES = 2_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

type Bound = 'levels' | 'values' | 'names';

/**
 * Measures JSON text in one pass, without parsing it.
 * @param json in UTF-8; it may be malformed
 * @param maxValues maximum number of values in the whole text
 * @returns the first limit that the text exceeds; null if none
 */
export function exceededBound(json: Uint8Array, maxValues = MAX_VALUES): Bound | null {
  return firstExceeded(json, maxValues);
}

function firstExceeded(json: Uint8Array, maxValues: number): Bound | null {
  const names = new Uint32Array(MAX_LEVELS + 1);
  let level = 0;
  let values = 1;
  for (let index = 0; index < json.length; index += 1) {
    const byte = json[index];
    if (byte === QUOTE) {
      index = endOfString(json, index);
    } else if (byte === COLON) {
      names[level] = (names[level] ?? 0) + 1;
      if ((names[level] ?? 0) > MAX_NAMES) return 'names';
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      level = Math.max(0, level - 1);
    } else if (byte === COMMA || byte === OPEN_LIST || byte === OPEN_OBJECT) {
      values += 1;
      if (values > maxValues) return 'values';
      if (byte === COMMA) continue;
      level += 1;
      if (level > MAX_LEVELS) return 'levels';
      names[level] = 0;
    }
  }
  return null;
}

/** @returns the index of the closing quotation mark, or the length of the text if there is none */
function endOfString(json: Uint8Array, start: number): number {
  let index = start + 1;
  while (index < json.length && json[index] !== QUOTE) index += json[index] === BACKSLASH ? 2 : 1;
  return index;
}
