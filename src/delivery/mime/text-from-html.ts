import { compile } from 'html-to-text';

/** Layout tables nest; deeper recursion than this would end in a stack overflow. */
const maxDepth = 200;
/** The parser's time grows with the square of the depth: no arrangement of so many tags takes half a second. */
const maxTags = 20_000;

const convert = compile({
  wordwrap: false,
  limits: { maxDepth },
  selectors: [
    { selector: 'head', format: 'skip' },
    { selector: 'img', format: 'skip' },
    { selector: 'tr', format: 'block', options: { leadingLineBreaks: 1, trailingLineBreaks: 1 } },
    { selector: 'td', format: 'inlineSurround', options: { suffix: ' ' } },
    { selector: 'th', format: 'inlineSurround', options: { suffix: ' ' } },
    { selector: '[style*="display:none"]', format: 'skip' },
    { selector: '[style*="display: none"]', format: 'skip' },
    {
      selector: 'a',
      options: { hideLinkHrefIfSameAsText: true, linkBrackets: ['<', '>'], noAnchorUrl: true },
    },
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } })),
  ],
});

/**
 * The text alternative of a message that came as HTML only: links kept, images and hidden preheaders left out.
 * @returns empty where there is nothing to read, or more than 20,000 tags, which would hold up everybody else's
 *   mail
 */
export function textFromHtml(html: string): string {
  return hasMoreTagsThan(maxTags, html) ? '' : withoutEmptyRows(convert(html));
}

/** Cells of layout tables leave lines of nothing but spaces. */
function withoutEmptyRows(text: string): string {
  const lines = text.split('\n').map((line) => line.trimEnd());
  return lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

function hasMoreTagsThan(limit: number, html: string): boolean {
  const tag = /<\/?[a-z]/gi;
  for (let count = 0; count <= limit; count += 1) if (!tag.test(html)) return false;
  return true;
}
