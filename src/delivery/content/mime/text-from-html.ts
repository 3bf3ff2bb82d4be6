import { compile } from 'html-to-text';
import { withoutHidden } from './hidden-elements.ts';
import { linkFormatters } from './text-anchors.ts';
import { indentingFormatters } from './text-indents.ts';

/** Layout tables are nested, but deeper recursion would overflow the stack. */
const maxDepth = 200;
/** The parser takes quadratic time in the depth. This many tags take less than half a second in the worst case. */
const maxTags = 20_000;
/** Limited, because each list and quote around a preformatted text indents each of its lines. */
const maxPreformattedLines = 100_000;

const convert = compile({
  wordwrap: false,
  // Text outside of the body is shown, too.
  baseElements: { selectors: ['html-to-text-none'] },
  limits: { maxDepth },
  formatters: { ...indentingFormatters, ...linkFormatters },
  selectors: [
    { selector: 'blockquote', format: 'boundedQuote' },
    { selector: 'ul', format: 'boundedList' },
    { selector: 'ol', format: 'boundedOrderedList' },
    { selector: 'title', format: 'skip' },
    { selector: 'template', format: 'skip' },
    { selector: 'xml', format: 'skip' },
    { selector: 'img', format: 'linkedImage' },
    { selector: 'area', format: 'area' },
    { selector: 'a', format: 'link' },
    { selector: 'tr', format: 'block', options: { leadingLineBreaks: 1, trailingLineBreaks: 1 } },
    { selector: 'td', format: 'inlineSurround', options: { suffix: ' ' } },
    { selector: 'th', format: 'inlineSurround', options: { suffix: ' ' } },
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } })),
  ],
});

/**
 * Generates the text alternative of an HTML message. Links are kept, with the alt texts of the images in them. Other
 * images and hidden elements, such as preheaders, are left out.
 * @param restOf returns what is left of a hidden element, a comment or a style; by default nothing
 * @returns an empty string if there is no text, or if it has more than 20,000 tags or 100,000 preformatted lines, which
 *   would delay other mail
 */
export function textFromHtml(html: string, restOf?: (removed: string) => string): string {
  const isTooLong =
    hasMoreThan(maxTags, /<\/?[a-z]/gi, html) ||
    (/<pre\b/i.test(html) && hasMoreThan(maxPreformattedLines, /\n/g, html));
  return isTooLong ? '' : withoutEmptyRows(convert(withoutHidden(html, restOf)));
}

/** Removes the blank lines left by cells of layout tables. */
function withoutEmptyRows(text: string): string {
  const lines = text.split('\n').map((line) => line.trimEnd());
  return lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

/** @param pattern with the flag `g` */
function hasMoreThan(limit: number, pattern: RegExp, text: string): boolean {
  for (let count = 0; count <= limit; count += 1) if (!pattern.test(text)) return false;
  return true;
}
