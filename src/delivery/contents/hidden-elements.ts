/** Finds elements that no recipient sees, such as a hidden preheader. Rules in `<style>` are not read. */
import type { HtmlScan, Range, Tag } from './html-scan.ts';

/** Elements without content, which have no end tag. */
const VOID = new Set([
  'area',
  'base',
  'br',
  'col',
  'embed',
  'hr',
  'img',
  'input',
  'link',
  'meta',
  'source',
  'track',
  'wbr',
]);

/** Elements that implicitly close an open `<p>`. */
const BLOCKS = new Set([
  'address',
  'article',
  'blockquote',
  'center',
  'div',
  'dl',
  'fieldset',
  'footer',
  'form',
  'h1',
  'h2',
  'h3',
  'h4',
  'h5',
  'h6',
  'header',
  'hr',
  'main',
  'nav',
  'ol',
  'p',
  'pre',
  'section',
  'table',
  'ul',
]);

const ZERO = /^0+(?:\.0*)?(?:px|pt|em|rem|%)?$/;

/** Whether a `style` attribute hides its element. */
function hides(style: string): boolean {
  const declared = new Map<string, string>();
  for (const declaration of style.split(';')) {
    const colon = declaration.indexOf(':');
    if (colon < 0) continue;
    const [value = ''] = declaration.slice(colon + 1).split('!', 1);
    declared.set(declaration.slice(0, colon).trim().toLowerCase(), value.trim().toLowerCase());
  }
  const isZero = (name: string) => ZERO.test(declared.get(name) ?? '');
  return (
    declared.get('display') === 'none' ||
    ['hidden', 'collapse'].includes(declared.get('visibility') ?? '') ||
    isZero('opacity') ||
    (declared.get('overflow') === 'hidden' && (isZero('max-height') || isZero('height')))
  );
}

function isHidden(html: string, { attributes, hidden }: Tag): boolean {
  return (
    hidden || attributes.some(({ name, start, end }) => name === 'style' && hides(html.slice(start, end)))
  );
}

/** The tags outside of conditional comments, which most mail programs ignore, in document order. */
export function shownTags({ tags, comments }: Pick<HtmlScan, 'tags' | 'comments'>): Tag[] {
  let next = 0;
  return tags
    .toSorted((one, other) => one.start - other.start)
    .filter(({ start }) => {
      while ((comments[next]?.end ?? Infinity) <= start) next += 1;
      return (comments[next]?.start ?? Infinity) > start;
    });
}

/**
 * Finds the hidden elements. An element ends at the end tag that balances its start tag, counting elements of the same
 * name. An unclosed one hides everything after it.
 * @returns ranges in document order, without overlap
 */
export function hiddenElements(html: string, scan: HtmlScan): Range[] {
  const ranges: Range[] = [];
  let nextClosing = 0;
  let within: { name: string; start: number; depth: number } | null = null;
  const closeUpTo = (position: number) => {
    for (; (scan.closings[nextClosing]?.start ?? Infinity) < position; nextClosing += 1) {
      const closing = scan.closings[nextClosing];
      if (!within || closing?.name !== within.name) continue;
      within.depth -= 1;
      if (within.depth > 0) continue;
      ranges.push({ start: within.start, end: closing.start });
      within = null;
    }
  };
  for (const tag of shownTags(scan)) {
    closeUpTo(tag.start);
    if (within?.name === 'p' && BLOCKS.has(tag.name)) {
      ranges.push({ start: within.start, end: tag.start });
      within = null;
    }
    if (VOID.has(tag.name)) continue;
    if (within) {
      if (tag.name === within.name) within.depth += 1;
    } else if (isHidden(html, tag)) within = { name: tag.name, start: tag.start, depth: 1 };
  }
  closeUpTo(Infinity);
  if (within) ranges.push({ start: within.start, end: html.length });
  return ranges;
}
