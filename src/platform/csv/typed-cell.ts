/**
 * Values in cells of our own exports. A text is written as it is, unless a reader would take it for another value: then
 * it is written as JSON, in quotation marks.
 */

/** Numbers and booleans as JSON writes them. */
const SCALAR = /^(?:true|false|-?\d[\d.e+-]*)$/;
const MAY_BE_JSON = /^(?:["[{]|true$|false$|-?\d[\d.e+-]*$)/;

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Whether a reader that removes white space around a cell, and reads typed values, would read another value. */
const isAmbiguous = (text: string): boolean =>
  text === '' || text !== text.trim() || (MAY_BE_JSON.test(text) && isJson(text));

/** Returns a value as a cell that {@link readTypedCell} reads back; null for null and undefined. */
export function typedCell(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'string' && !isAmbiguous(value) ? value : JSON.stringify(value);
}

/** Returns a text as a cell of a column that has only texts, such as names; see {@link readTextCell}. */
export function textCell(text: string | null): string | null {
  if (text === null || text === '') return null;
  return text !== text.trim() || readTextCell(text) !== text ? JSON.stringify(text) : text;
}

/** Reads a cell of a column that has only texts. */
export function readTextCell(cell: string): string {
  if (!cell.startsWith('"')) return cell;
  const value = parse(cell);
  return typeof value === 'string' && JSON.stringify(value) === cell ? value : cell;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Significant digits and exponent of a number in JSON, so that 1.50 and 15e-1 are the same. */
function decimal(number: string): string {
  const [, sign = '', whole = '', part = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? [];
  const digits = (whole + part).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return `${sign}0`;
  return `${sign}${significant}e${Number(exponent) - part.length + digits.length - significant.length}`;
}

const countKeys = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 0;
  const inner = Object.values(value).reduce<number>((sum, each) => sum + countKeys(each), 0);
  return inner + (Array.isArray(value) ? 0 : Object.keys(value).length);
};

/** Whether nothing of a JSON text is lost in its value: neither digits of numbers, nor a key that is there twice. */
function isLossless(text: string, value: unknown): boolean {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"(?:\s*:)?|-?\d[\d.eE+-]*/g) ?? [];
  const keys = tokens.filter((token) => token.endsWith(':')).length;
  const numbers = tokens.filter((token) => !token.startsWith('"'));
  return (
    keys === countKeys(value) && numbers.every((token) => decimal(token) === decimal(String(Number(token))))
  );
}

/**
 * Reads an object or array in JSON, however it is spaced: as we write it, or as PostgreSQL and Python print it.
 * @returns undefined for anything else, and for JSON whose numbers JavaScript cannot represent
 */
export function readStructure(cell: string): unknown {
  if (!/^[[{]/.test(cell)) return undefined;
  const value = parse(cell);
  return value === undefined || JSON.stringify(value) === cell || isLossless(cell, value) ? value : undefined;
}

/** Reads a cell that {@link typedCell} has written. What it would not have written is a text. */
export function readTypedCell(cell: string): unknown {
  if (SCALAR.test(cell) || cell.startsWith('"')) {
    const value = parse(cell);
    return value !== undefined && JSON.stringify(value) === cell ? value : cell;
  }
  const value = readStructure(cell);
  return value === undefined ? cell : value;
}
