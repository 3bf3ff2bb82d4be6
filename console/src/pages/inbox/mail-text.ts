/** Elements that begin a line. */
const BLOCKS = new Set(
  'ADDRESS ARTICLE ASIDE BLOCKQUOTE DIV DL DT DD FOOTER H1 H2 H3 H4 H5 H6 HEADER HR LI MAIN NAV OL P PRE SECTION TABLE TR UL'.split(
    ' ',
  ),
);
const HIDDEN = new Set(['HEAD', 'SCRIPT', 'STYLE', 'TEMPLATE', 'TITLE']);

function linkText(element: Element, shown: string): string {
  const href = element.getAttribute('href') ?? '';
  if (element.tagName !== 'A' || !/^(?:https?|mailto):/i.test(href)) return shown;
  return shown.trim() === href ? shown : `${shown} (${href})`;
}

function textOf(node: Node): string {
  if (node instanceof Text) return node.data.replaceAll(/\s+/g, ' ');
  if (!(node instanceof Element) || HIDDEN.has(node.tagName)) return '';
  if (node.tagName === 'BR') return '\n';
  const inner = linkText(node, [...node.childNodes].map(textOf).join(''));
  if (node.tagName === 'LI') return `\n• ${inner.trim()}`;
  if (node.tagName === 'TD' || node.tagName === 'TH') return `${inner} `;
  return BLOCKS.has(node.tagName) ? `\n${inner}\n` : inner;
}

/**
 * Returns the text of a mail that has only HTML. The parser makes a document without a window, in which nothing runs and
 * nothing is loaded; only the text leaves it. Links have their target beside them, so that nothing is disguised.
 */
export function textOfHtml(html: string): string {
  const { body } = new DOMParser().parseFromString(html, 'text/html');
  return textOf(body)
    .replaceAll(/[^\S\n]*\n[^\S\n]*/g, '\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}
