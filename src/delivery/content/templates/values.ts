/** Converts values of a template to text, and text to a part of HTML or of a header. */
import { ENTITIES } from '../mime/escape-html.ts';

const MAX_DEPTH = 5;
/** Maximum length of a text that a filter or a list may produce. */
const MAX_TEXT = 2 * 1024 * 1024;

/** The text would be too long. */
export class TextLimitError extends Error {}

/** @throws TextLimitError if a text of this many characters is too long */
export function bounded(length: number): void {
  if (length > MAX_TEXT) throw new TextLimitError('a text grew too long');
}

/** A list may contain one long text many times, so the result is checked, too. */
function textOfList(values: readonly unknown[], depth: number): string {
  let text = '';
  for (const value of values) {
    text += textOf(value, depth);
    bounded(text.length);
  }
  return text;
}

/**
 * The text of a value. Objects have no text, so that a template shows only what it names.
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

const SPECIAL = /[&<>"'\0-\x08\x0b\x0c\x0e-\x1f\x7f]/;
const ALL_SPECIAL = /[&<>"'\0-\x08\x0b\x0c\x0e-\x1f\x7f]/g;

/** Escapes a text for HTML, including quoted attributes, and removes control characters. */
export function escapeValue(text: string): string {
  return SPECIAL.test(text) ? text.replace(ALL_SPECIAL, (character) => ENTITIES[character] ?? '') : text;
}

const ENTITY_OR_SPECIAL =
  /&(?:[a-zA-Z]{2,31}|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});|[&<>"'\0-\x08\x0b\x0c\x0e-\x1f\x7f]/g;

/** Escapes a text for HTML, but keeps existing entities. */
export function escapeOnce(text: string): string {
  return text.replace(ENTITY_OR_SPECIAL, (found) => (found.length > 1 ? found : (ENTITIES[found] ?? '')));
}

const CONTROLS = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/g;
const HAS_CONTROLS = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/;

/** Removes control characters other than tab and line breaks. */
export function withoutControls(text: string): string {
  return HAS_CONTROLS.test(text) ? text.replace(CONTROLS, '') : text;
}

/** Maximum length of a value in a header. */
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

/** Removes tags, comments, and the content of `<script>` and `<style>`, in linear time. */
export function stripHtml(html: string): string {
  let text = '';
  let at = 0;
  const lower = html.toLowerCase();
  // If a search for a closing mark fails, every later search for it would fail, too. Remembering this keeps the total
  // time linear.
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
