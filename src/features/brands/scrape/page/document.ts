/** Parses a page into a tree of limited size and depth. */
import { Element, isTag, isText, type ChildNode, type Document } from 'domhandler';
import { DomHandler, Parser } from 'htmlparser2';
import { webAddress } from './texts.ts';

const MAX_ELEMENTS = 60_000;
const MAX_DEPTH = 300;
/** After this many elements nested too deeply, the rest of the page is not read. */
const MAX_SKIPPED = 2_000;
/**
 * The parser's time grows with the square of the depth, so it gets the page in pieces and can be stopped between them.
 */
const PIECE = 4_096;
/** Maximum number of nodes to read for one text. */
const MAX_TEXT_NODES = 500;

/** Elements whose text browsers do not show. */
const SILENT = new Set(['script', 'style', 'noscript', 'template', 'svg', 'head', 'iframe', 'object']);

/** Leaves out elements beyond the limits. */
class BoundedHandler extends DomHandler {
  #elements = 0;
  #skipped = 0;

  get isFull(): boolean {
    return this.#elements >= MAX_ELEMENTS || this.#skipped >= MAX_SKIPPED;
  }

  override onopentag(name: string, attributes: Record<string, string>): void {
    if (this.#skipped > 0 || this.isFull || this.tagStack.length > MAX_DEPTH) {
      this.#skipped += 1;
      return;
    }
    this.#elements += 1;
    super.onopentag(name, attributes);
  }

  override onclosetag(): void {
    if (this.#skipped > 0) this.#skipped -= 1;
    else super.onclosetag();
  }

  override oncomment(): void {}
  override oncommentend(): void {}
}

/** Parses HTML, or XML such as SVG, however malformed. */
export function parseTree(text: string, xmlMode = false): Document {
  const handler = new BoundedHandler(null, { xmlMode });
  const parser = new Parser(handler, { xmlMode, decodeEntities: true, recognizeSelfClosing: true });
  for (let start = 0; start < text.length && !handler.isFull; start += PIECE) {
    parser.write(text.slice(start, start + PIECE));
  }
  parser.end();
  return handler.root;
}

/** A page. Its elements are in document order. */
export interface Page {
  /** The URL that relative ones are resolved against: the page's own, or that of `<base>`. */
  base: string;
  url: string;
  elements: readonly Element[];
  /** Elements in a header, footer, navigation or aside. */
  asides: ReadonlySet<Element>;
  /** Elements in a cookie dialog, which comes from another vendor. */
  consents: ReadonlySet<Element>;
}

const ASIDE = new Set(['nav', 'footer', 'header', 'aside']);
const CONSENT = /cookie|consent|gdpr|onetrust|usercentrics|didomi/i;

/** Walks a tree without recursion. */
function* elementsOf(nodes: readonly ChildNode[]): Generator<Element> {
  const stack = [...nodes].reverse();
  for (let node = stack.pop(); node; node = stack.pop()) {
    if (!isTag(node)) continue;
    yield node;
    for (let n = node.children.length - 1; n >= 0; n -= 1) stack.push(node.children[n] as ChildNode);
  }
}

/** @param url where the page was read */
export function readPage(html: string, url: string): Page {
  const elements = [...elementsOf(parseTree(html).children)];
  const within = (fits: (element: Element) => boolean) => {
    const found = new Set<Element>();
    // Parents come before their children.
    for (const element of elements) {
      if (fits(element) || found.has(element.parent as Element)) found.add(element);
    }
    return found;
  };
  const base = elements.find(({ name, attribs }) => name === 'base' && attribs.href !== undefined);
  return {
    url,
    base: webAddress(base?.attribs.href ?? '', url) ?? url,
    elements,
    asides: within(({ name }) => ASIDE.has(name)),
    consents: within((element) => element.name !== 'body' && CONSENT.test(labelsOf(element))),
  };
}

/** The text of an element as a browser shows it, at most `maxLength` characters. White space is as in the page. */
export function textOf(element: Element, maxLength: number): string {
  return textOfNodes([element], maxLength);
}

const MAX_MARKUP = 20_000;

/** The text of a piece of HTML, which may be plain text. */
export function textOfMarkup(markup: string): string {
  const given = markup.slice(0, MAX_MARKUP);
  return /[&<]/.test(given) ? textOfNodes(parseTree(given).children, MAX_MARKUP) : given;
}

function textOfNodes(nodes: readonly ChildNode[], maxLength: number): string {
  let text = '';
  let count = 0;
  const stack = [...nodes].reverse();
  for (let node = stack.pop(); node && text.length < maxLength; node = stack.pop()) {
    if ((count += 1) > MAX_TEXT_NODES) break;
    if (isText(node)) text += node.data.slice(0, maxLength);
    if (!isTag(node) || SILENT.has(node.name)) continue;
    // Keep the words of neighboring elements apart.
    if (node.name === 'br' || BLOCKS.has(node.name)) text += '\n';
    for (let n = node.children.length - 1; n >= 0; n -= 1) stack.push(node.children[n] as ChildNode);
  }
  return text;
}

const BLOCKS = new Set(['p', 'div', 'li', 'tr', 'td', 'address', 'section', 'h1', 'h2', 'h3']);

/** The element and its ancestors, innermost first. */
export function* chainOf(element: Element): Generator<Element> {
  for (let at: Element | null = element; at; at = at.parent instanceof Element ? at.parent : null) yield at;
}

/** An element's names for itself: class, id, role and label. */
export function labelsOf({ attribs }: Element): string {
  const { class: classes = '', id = '', role = '', 'aria-label': label = '' } = attribs;
  return `${classes} ${id} ${role} ${label}`.slice(0, 500);
}
