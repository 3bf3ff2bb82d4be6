/** Finds elements that no recipient sees, such as a hidden preheader. */
import { type HtmlScan, type Range, scanHtml, type Tag } from './html-scan.ts';

/** Elements without content, which have no end tag. */
export const VOID_ELEMENTS: ReadonlySet<string> = new Set([
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

/** Length of the beginning of a tag that shows its name. */
const MAX_TAG_NAME = 12;

const ZERO = /^0+(?:\.0*)?(?:px|pt|em|rem|%)?$/;

/** A style without its comments, in linear time. */
const withoutComments = (css: string): string =>
  css.includes('/*')
    ? css
        .split('*/')
        .map((piece) => piece.split('/*', 1)[0])
        .join(' ')
    : css;

/** The declarations of a style in lower case, without `!important`. */
function declarationsOf(style: string): Map<string, string> {
  const declared = new Map<string, string>();
  for (const declaration of withoutComments(style).split(';')) {
    const colon = declaration.indexOf(':');
    if (colon < 0) continue;
    const [value = ''] = declaration.slice(colon + 1).split('!', 1);
    declared.set(declaration.slice(0, colon).trim().toLowerCase(), value.trim().toLowerCase());
  }
  return declared;
}

/** Whether declarations hide their element. */
function hides(declared: ReadonlyMap<string, string>): boolean {
  const isZero = (name: string) => ZERO.test(declared.get(name) ?? '');
  return (
    declared.get('display') === 'none' ||
    ['hidden', 'collapse'].includes(declared.get('visibility') ?? '') ||
    isZero('opacity') ||
    (declared.get('overflow') === 'hidden' && (isZero('max-height') || isZero('height')))
  );
}

/** Names such as `.preheader`, `td.preheader` or `#preheader`, in lower case, that a rule hides. */
type HiddenNames = ReadonlySet<string>;
const NO_NAMES: HiddenNames = new Set();

/** Elements that HTML never shows as they are written, whatever their style. */
const NEVER_SHOWN: ReadonlySet<string> = new Set([
  'datalist',
  'dialog',
  'iframe',
  'noembed',
  'noframes',
  'plaintext',
  'select',
  'template',
]);

/** What hides elements besides their own attributes. */
interface Hiding {
  /** Names that rules hide. */
  names: HiddenNames;
  tags: ReadonlySet<string>;
}
const OWN_ATTRIBUTES: Hiding = { names: NO_NAMES, tags: new Set() };

function isHidden(
  html: string,
  { name: tag, attributes, hidden }: Tag,
  { names: hiddenNames, tags }: Hiding,
): boolean {
  if (tags.has(tag)) return true;
  const valueOf = (name: string) => {
    const found = attributes.find((attribute) => attribute.name === name);
    return found ? html.slice(found.start, found.end) : '';
  };
  const declared = declarationsOf(valueOf('style'));
  if (hides(declared)) return true;
  // A style of its own takes precedence over the attribute `hidden` and over the rules of a sheet.
  if (declared.has('display')) return false;
  if (hidden) return true;
  if (hiddenNames.size === 0) return false;
  const names = valueOf('class')
    .split(/\s+/)
    .map((each) => `.${each.toLowerCase()}`);
  return [...names, `#${valueOf('id').toLowerCase()}`].some(
    (name) => hiddenNames.has(name) || hiddenNames.has(tag + name),
  );
}

interface HiddenRange extends Range {
  /** Whether an end tag follows the range. */
  closed: boolean;
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
 * @param hiding by default only the element's own attributes count
 * @returns ranges in document order, without overlap
 */
function hiddenElements(html: string, scan: HtmlScan, hiding: Hiding = OWN_ATTRIBUTES): HiddenRange[] {
  const ranges: HiddenRange[] = [];
  let nextClosing = 0;
  let within: { name: string; start: number; depth: number } | null = null;
  const closeUpTo = (position: number) => {
    for (; (scan.closings[nextClosing]?.start ?? Infinity) < position; nextClosing += 1) {
      const closing = scan.closings[nextClosing];
      if (!within || closing?.name !== within.name) continue;
      within.depth -= 1;
      if (within.depth > 0) continue;
      ranges.push({ start: within.start, end: closing.start, closed: true });
      within = null;
    }
  };
  for (const tag of shownTags(scan)) {
    closeUpTo(tag.start);
    if (within?.name === 'p' && BLOCKS.has(tag.name)) {
      ranges.push({ start: within.start, end: tag.start, closed: false });
      within = null;
    }
    if (VOID_ELEMENTS.has(tag.name)) {
      if (!within && isHidden(html, tag, hiding))
        ranges.push({ start: tag.start, end: tag.end, closed: false });
      continue;
    }
    if (within) {
      if (tag.name === within.name) within.depth += 1;
    } else if (isHidden(html, tag, hiding)) within = { name: tag.name, start: tag.start, depth: 1 };
  }
  closeUpTo(Infinity);
  if (within) ranges.push({ start: within.start, end: html.length, closed: false });
  return ranges;
}

/** A selector that {@link HiddenNames} can have. */
const NAME = /^[a-z0-9]*[.#][\w-]+$/;

/** The rules of a style sheet with their declarations, in lower case, in linear time. */
function* rulesOf(css: string): Generator<{ selectors: string; declarations: string }> {
  const plain = withoutComments(css).toLowerCase();
  let depth = 0;
  let start = 0;
  let selectors = '';
  for (const { 0: character, index } of plain.matchAll(/[{};]/g)) {
    const before = depth;
    if (character === '{') depth += 1;
    else if (character === '}') depth = Math.max(depth - 1, 0);
    if (before === 0 && depth === 1) selectors = plain.slice(start, index).trim();
    if (before === 1 && depth === 0) yield { selectors, declarations: plain.slice(start, index) };
    if (before === 0 || depth === 0) start = index + 1;
  }
}

/** Properties whose later value may show again what an earlier rule hides. */
const SHOWING = ['display', 'visibility', 'opacity', 'height', 'max-height', 'overflow'];

/** Adds the names that a style sheet always hides. Rules in `@media` and the like do not count. */
function addHiddenNames(css: string, names: Set<string>): void {
  for (const { selectors, declarations } of rulesOf(css)) {
    if (selectors.startsWith('@')) continue;
    const declared = declarationsOf(declarations);
    const isHiding = hides(declared);
    if (!isHiding && !SHOWING.some((property) => declared.has(property))) continue;
    for (const selector of selectors.split(',').map((each) => each.trim())) {
      if (!isHiding) names.delete(selector);
      else if (NAME.test(selector)) names.add(selector);
    }
  }
}

function hiddenNamesOf(html: string, scan: HtmlScan): HiddenNames {
  const names = new Set<string>();
  const shown = new Set(shownTags(scan).map(({ end }) => end));
  for (const { start, end } of scan.styles)
    if (shown.has(start)) addHiddenNames(html.slice(start, end), names);
  return names;
}

/**
 * Finds all elements that a recipient may not see: those that their attributes, simple rules in `<style>` or HTML itself
 * hide. In doubt, an element is one of them.
 * @returns as {@link hiddenElements}
 */
export const unseenElements = (html: string, scan: HtmlScan): HiddenRange[] =>
  hiddenElements(html, scan, { names: hiddenNamesOf(html, scan), tags: NEVER_SHOWN });

/** What most letters without hidden elements lack. */
const MAY_HIDE = /hidden|display[^;"'}]{0,40}none|visibility|opacity/i;
/** Elements that the next one of their kind ends, so that an unclosed one does not hide the rest. */
const ENDED_BY_OTHERS = /^<(?:d[dt]|li|option|t[dhr]|tbody|thead|tfoot)\b/i;

/** The position after the end tag that begins at a position. */
function endOfTag(html: string, start: number): number {
  const bracket = html.indexOf('>', start);
  return bracket < 0 ? html.length : bracket + 1;
}

/** Comments and styles with their delimiters. */
function commentsAndStyles(html: string, { comments, styles, tags }: HtmlScan): Range[] {
  const starts = new Map(tags.map(({ start, end }) => [end, start]));
  return [
    ...comments.map(({ start, end }) => ({
      start: html.lastIndexOf('<!', start - 1),
      end: endOfTag(html, end),
    })),
    ...styles.map(({ start, end }) => ({ start: starts.get(start) ?? start, end: endOfTag(html, end) })),
  ];
}

/**
 * Removes the hidden elements from HTML, in linear time. Here, simple rules in `<style>` count, too.
 * @param restOf returns what is left of what is removed. If it is given, comments and styles are removed, too.
 */
export function withoutHidden(html: string, restOf?: (removed: string) => string): string {
  if (!restOf && !MAY_HIDE.test(html)) return html;
  const scan = scanHtml(html);
  const ranges = hiddenElements(html, scan, { ...OWN_ATTRIBUTES, names: hiddenNamesOf(html, scan) })
    .filter(({ start, closed }) => closed || !ENDED_BY_OTHERS.test(html.slice(start, start + MAX_TAG_NAME)))
    .map(({ start, end, closed }) => ({ start, end: closed ? endOfTag(html, end) : end }));
  if (restOf) ranges.push(...commentsAndStyles(html, scan));
  let result = '';
  let done = 0;
  for (const { start, end } of ranges.toSorted((one, other) => one.start - other.start)) {
    if (start < done) continue;
    result += html.slice(done, start) + (restOf?.(html.slice(start, end)) ?? '');
    done = end;
  }
  return result + html.slice(done);
}
