/** Cleans the texts of untrusted pages, so that they are plain text within a field's limits. */

const CONTROLS = /[\x00-\x1f\x7f-\x9f\u2028\u2029]+/g;
/** Marks that change the direction of the text after them, and characters without a width. */
const INVISIBLE = /[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
const SPACES = /\s+/g;
/** Texts are cut to this many characters before they are cleaned. */
const MAX_RAW = 20_000;
/** A cut text may end between two words only within this last part of it. */
const WORD_END = 40;

/** One line of plain text, cut between words if it is longer than `maxLength` UTF-16 code units. */
export function plainText(raw: string, maxLength: number): string {
  const text = raw
    .slice(0, MAX_RAW)
    .toWellFormed()
    .replace(CONTROLS, ' ')
    .replace(INVISIBLE, '')
    .replace(SPACES, ' ')
    .trim();
  if (text.length <= maxLength) return text;
  const cut = text.slice(0, maxLength - 1);
  const end = cut.lastIndexOf(' ');
  const kept = end > maxLength - WORD_END ? cut.slice(0, end) : cut;
  return `${withoutHalfCharacter(kept).trimEnd()}…`;
}

function withoutHalfCharacter(text: string): string {
  return text.isWellFormed() ? text : text.slice(0, -1);
}

/** Lines of plain text, at most `maxLines`, without empty ones. */
export function plainLines(raw: readonly string[], maxLines: number, maxLength: number): string {
  return raw
    .map((line) => plainText(line, maxLength))
    .filter((line) => line !== '')
    .slice(0, maxLines)
    .join('\n');
}

/** A name reduced to its letters and digits, for comparisons. */
export function nameKey(name: string): string {
  return name
    .slice(0, 200)
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
}

/** @returns the absolute URL; null if it is not an http or https URL of at most 2,000 characters */
export function webAddress(text: string, base: string): string | null {
  if (text.length > MAX_ADDRESS) return null;
  const url = URL.parse(text.trim(), base);
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:') || url.hostname === '') return null;
  if (url.username !== '' || url.password !== '') return null;
  url.hash = '';
  return url.href.length > MAX_ADDRESS ? null : url.href;
}

const MAX_ADDRESS = 2_000;
