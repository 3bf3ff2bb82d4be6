/** Reads the names of fonts. */
import { plainText } from './texts.ts';

const MAX_NAME = 100;

/** Generic names, which mean whatever font the system has. */
const GENERIC = new Set([
  'serif',
  'sans-serif',
  'monospace',
  'cursive',
  'fantasy',
  'math',
  'emoji',
  'fangsong',
  'system-ui',
  'ui-sans-serif',
  'ui-serif',
  'ui-monospace',
  'ui-rounded',
  '-apple-system',
  'blinkmacsystemfont',
  'inherit',
  'initial',
  'unset',
  'revert',
  'revert-layer',
]);
/** Fonts whose letters are icons. */
const ICONS = /icon|awesome|material symbols|glyph/i;
const QUOTED = /^(["'])(.*)\1$/;
/** Matches the part of a `font` value that precedes the family: everything up to the size. */
const UP_TO_SIZE = /^.*?\d(?:\.\d+)?(?:px|r?em|%|pt|vw|ch|ex)(?:\s*\/\s*\S+)?\s+/i;

/**
 * Finds the font that a page asks for.
 * @param family the value of `font-family`
 * @param shorthand the value of `font`
 * @returns null if it asks for a system font
 */
export function readFontFamily(family: string | null, shorthand: string | null): string | null {
  const value = family ?? (shorthand === null ? '' : shorthand.slice(0, 500).replace(UP_TO_SIZE, ''));
  const [first = ''] = value.split(',');
  const trimmed = first.trim();
  const name = plainText(QUOTED.exec(trimmed)?.[2] ?? trimmed, MAX_NAME);
  if (name === '' || GENERIC.has(name.toLowerCase()) || ICONS.test(name)) return null;
  return /[(){};<>\\]/.test(name) ? null : name;
}
