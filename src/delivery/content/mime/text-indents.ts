/**
 * Formats lists and quotes in a text that is generated from HTML. Each nested one indents all its lines again, so 13 KB
 * of HTML could become megabytes of text and block the event loop for a second.
 */
import type { DomNode, FormatCallback } from 'html-to-text';

/** Maximum depth of nested lists and quotes that are indented. Deeper ones are formatted as blocks. */
const MAX_INDENTS = 10;
const INDENTING = new Set(['blockquote', 'ul', 'ol']);
/** Maximum number of a list item: all lines of a list are indented by the length of its numbers. */
const MAX_NUMBER = 1_000_000;
/** The library fails for larger Roman numerals. Browsers, too, show decimal numbers instead. */
const MAX_ROMAN = 3_999;

function isIndentedTooOften(element: DomNode): boolean {
  let indents = 0;
  for (let at: DomNode | undefined = element; at; at = at.parent) {
    if (INDENTING.has(at.name ?? '') && (indents += 1) > MAX_INDENTS) return true;
  }
  return false;
}

/** The library's types do not declare its options. */
interface WithFormatters {
  options: { formatters: Readonly<Record<string, FormatCallback>> };
}

/** The library's formatter, or the one for blocks if the element is nested too deeply. */
function bounded(name: 'blockquote' | 'unorderedList' | 'orderedList'): FormatCallback {
  return (element, walk, builder, options) => {
    const { formatters } = (builder as unknown as WithFormatters).options;
    formatters[isIndentedTooOften(element) ? 'block' : name]?.(element, walk, builder, options);
  };
}

const formatOrderedList = bounded('orderedList');

/** Formats an ordered list with numbers that the library can format. */
const boundedOrderedList: FormatCallback = (element, walk, builder, options) => {
  const attributes = (element.attribs ?? {}) as Record<string, string>;
  const given = Number.parseInt(attributes['start'] ?? '1', 10);
  const start = Math.abs(given) <= MAX_NUMBER ? given : 1;
  attributes['start'] = String(start);
  if (start < 1 || start + element.children.length > MAX_ROMAN) delete attributes['type'];
  formatOrderedList(element, walk, builder, options);
};

export const indentingFormatters: Record<string, FormatCallback> = {
  boundedQuote: bounded('blockquote'),
  boundedList: bounded('unorderedList'),
  boundedOrderedList,
};
