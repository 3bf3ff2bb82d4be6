/** Reads names of fonts. */
import { plainText } from './texts.ts';

const MAX_NAME = 100;

/** Names that stand for what a system happens to have. */
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
/** Their letters are icons. */
const ICONS = /icon|awesome|material symbols|glyph/i;
const QUOTED = /^(["'])(.*)\1$/;
/** Of the value of `font`: everything up to the size, which the family follows. */
const UP_TO_SIZE = /^.*?\d(?:\.\d+)?(?:px|r?em|%|pt|vw|ch|ex)(?:\s*\/\s*\S+)?\s+/i;

/**
 * Finds the font that a page wants.
 * @param family the value of `font-family`
 * @param shorthand the value of `font`
 * @returns null if it wants a font of the system
 */
export function readFontFamily(family: string | null, shorthand: string | null): string | null {
  const value = family ?? (shorthand === null ? '' : shorthand.slice(0, 500).replace(UP_TO_SIZE, ''));
  const [first = ''] = value.split(',');
  const trimmed = first.trim();
  const name = plainText(QUOTED.exec(trimmed)?.[2] ?? trimmed, MAX_NAME);
  if (name === '' || GENERIC.has(name.toLowerCase()) || ICONS.test(name)) return null;
  return /[(){};<>\\]/.test(name) ? null : name;
}
