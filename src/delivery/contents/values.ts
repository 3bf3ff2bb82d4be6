/** How a value of a template becomes text, and text becomes a part of HTML or of a header. */

const MAX_DEPTH = 5;
/** The longest text that a filter or a list may make. */
const MAX_TEXT = 2 * 1024 * 1024;

/** A text would be too long. */
export class TextLimitError extends Error {}

/** @throws TextLimitError for a text of so many characters */
export function bounded(length: number): void {
  if (length > MAX_TEXT) throw new TextLimitError('a text grew too long');
}

/** A list may name one long text often, so that the whole is longer than all that was counted. */
function textOfList(values: readonly unknown[], depth: number): string {
  let text = '';
  for (const value of values) {
    text += textOf(value, depth);
    bounded(text.length);
  }
  return text;
}

/**
 * The text of a value. Objects have none, so that no template shows what it does not name.
 * @throws TextLimitError for a list whose text would be too long
 */
export function textOf(value: unknown, depth = 0): string {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value);
    case 'object':
      break;
    default:
      return '';
  }
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? '' : value.toISOString();
  if (!Array.isArray(value) || depth >= MAX_DEPTH) return '';
  return textOfList(value, depth + 1);
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const SPECIAL = /[&<>"'\0-\x08\x0b\x0c\x0e-\x1f\x7f]/;
const ALL_SPECIAL = /[&<>"'\0-\x08\x0b\x0c\x0e-\x1f\x7f]/g;

/** Escapes a text for HTML, also between quotes of an attribute. Control characters are left out. */
export function escapeHtml(text: string): string {
  return SPECIAL.test(text) ? text.replace(ALL_SPECIAL, (character) => entities[character] ?? '') : text;
}

const ENTITY_OR_SPECIAL =
  /&(?:[a-zA-Z]{2,31}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});|[&<>"'\0-\x08\x0b\x0c\x0e-\x1f\x7f]/g;

/** Escapes a text for HTML, and leaves the entities that it has. */
export function escapeOnce(text: string): string {
  return text.replace(ENTITY_OR_SPECIAL, (found) => (found.length > 1 ? found : (entities[found] ?? '')));
}

const CONTROLS = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/g;
const HAS_CONTROLS = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/;

/** Leaves out control characters other than tab and line breaks. */
export function withoutControls(text: string): string {
  return HAS_CONTROLS.test(text) ? text.replace(CONTROLS, '') : text;
}

/** The longest value in a header. */
const MAX_HEADER_VALUE = 200;
const BREAK = /[\0-\x1f\x7f-\x9f\u2028\u2029]/;
const BREAKS = /[\0-\x1f\x7f-\x9f\u2028\u2029]+/g;

/** A text as part of a header: one line without control characters. */
export function headerText(text: string): string {
  return BREAK.test(text) ? text.replace(BREAKS, ' ') : text;
}

/** A value as part of a header: one line of at most 200 characters. */
export function headerValue(text: string): string {
  return headerText(text.length > MAX_HEADER_VALUE ? text.slice(0, MAX_HEADER_VALUE).toWellFormed() : text);
}

/** Removes tags, comments, and what is in `<script>` and `<style>`, in linear time. */
export function stripHtml(html: string): string {
  let text = '';
  let at = 0;
  const lower = html.toLowerCase();
  // Once nothing closes a kind of tag, nothing further on does: each search is made once at most in vain.
  const missing = new Set<string>();
  const find = (closing: string, from: number) => {
    if (missing.has(closing)) return -1;
    const found = lower.indexOf(closing, from);
    if (found < 0) missing.add(closing);
    return found;
  };
  for (;;) {
    const open = html.indexOf('<', at);
    if (open < 0) return text + html.slice(at);
    const closing = lower.startsWith('<script', open)
      ? '</script>'
      : lower.startsWith('<style', open)
        ? '</style>'
        : lower.startsWith('<!--', open)
          ? '-->'
          : '>';
    let end = find(closing, open);
    let length = closing.length;
    if (end < 0) {
      end = find('>', open);
      length = 1;
    }
    if (end < 0) return text + html.slice(at);
    text += html.slice(at, open);
    at = end + length;
  }
}
