/**
 * Limits the size of the HTML that MJML produces. MJML copies attributes of the head into every element, and those of
 * an element into its descendants: 500 KB of text can become 800 MB in a single allocation, for which V8 would end the
 * whole process and not only the thread.
 */
import type { MjmlNode } from './design-mjml.ts';
import { MAX_TEMPLATE } from './liquid.ts';

/** Maximum number of copied characters: their number times the elements that they are copied into. */
const MAX_COPIED = 16_000_000;
/** Maximum number of MJML elements, not counting HTML tags. Each becomes several hundred characters. */
const MAX_ELEMENTS = 10_000;
/** The size of a carousel's styles grows quadratically with the number of its images. */
const MAX_CAROUSEL_IMAGES = 100;
/** MJML does not copy these attributes, which may be long, from elements of the body. */
const NOT_COPIED = new Set(['src', 'href', 'background-url']);

const lengthOf = (attributes: Record<string, unknown> = {}, except: ReadonlySet<string> = new Set()) =>
  Object.entries(attributes).reduce(
    (sum, [name, value]) => sum + (except.has(name) ? 0 : String(value).length),
    0,
  );

function countTags(text: string): number {
  let count = 0;
  for (let at = text.indexOf('<'); at >= 0; at = text.indexOf('<', at + 1)) count += 1;
  return count;
}

interface Size {
  /** Number of elements and tags, including the node itself. */
  elements: number;
  /** Characters times elements. */
  copied: number;
}

function sizeOfBody(node: MjmlNode): Size {
  const size = { elements: 1 + countTags(node.content ?? ''), copied: 0 };
  for (const child of node.children ?? []) {
    const { elements, copied } = sizeOfBody(child);
    size.elements += elements;
    size.copied += copied;
  }
  if (node.children?.length) size.copied += size.elements * lengthOf(node.attributes, NOT_COPIED);
  return size;
}

/** Number of characters of the head that are copied: all but styles, titles and the like. */
function copiedOfHead({ tagName, attributes, content, children = [] }: MjmlNode, isCopied = false): number {
  const copied = isCopied || tagName === 'mj-attributes' || tagName === 'mj-html-attributes';
  const own = copied ? lengthOf(attributes) + (content ?? '').length : 0;
  return children.reduce((sum, child) => sum + copiedOfHead(child, copied), own);
}

function copiesTooMuch({ children = [] }: MjmlNode): boolean {
  const total: Size = { elements: 0, copied: 0 };
  for (const child of children) {
    if (child.tagName === 'mj-head') continue;
    const { elements, copied } = sizeOfBody(child);
    total.elements += elements;
    total.copied += copied;
  }
  const head = children
    .filter(({ tagName }) => tagName === 'mj-head')
    .reduce((sum, child) => sum + copiedOfHead(child), 0);
  return total.copied + head * total.elements > MAX_COPIED;
}

/** An element with its descendants. */
function* elementsOf(node: MjmlNode): Generator<MjmlNode> {
  yield node;
  for (const child of node.children ?? []) yield* elementsOf(child);
}

/** @returns why the HTML of a tree might exceed the memory of a thread; null if it does not */
export function faultOfSize(tree: MjmlNode): string | null {
  const total = { elements: 0, length: 0, images: 0 };
  for (const { tagName, attributes, content = '' } of elementsOf(tree)) {
    total.elements += 1;
    total.length += lengthOf(attributes) + content.length;
    if (tagName === 'mj-carousel-image') total.images += 1;
  }
  if (total.elements > MAX_ELEMENTS) return 'there are more than 10,000 elements';
  if (total.images > MAX_CAROUSEL_IMAGES) return 'carousels have more than 100 images';
  if (total.length > MAX_TEMPLATE) return 'the content is longer than 4 MB';
  return copiesTooMuch(tree) ? 'long attributes are copied into too many elements' : null;
}
