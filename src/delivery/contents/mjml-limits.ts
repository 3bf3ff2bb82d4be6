/**
 * What MJML may grow to. Attributes of the head are copied into every element, those of an element into the elements in it:
 * a text of 500 KB may become 800 MB, written at once, for which V8 would end the whole process and not only the thread.
 */
import type { MjmlNode } from './design-mjml.ts';
import { MAX_TEMPLATE } from './liquid.ts';

/** Characters that are copied, times the elements that they are copied into. */
const MAX_COPIED = 16_000_000;
/** Elements of MJML, without tags of HTML. Each becomes several hundred characters. */
const MAX_ELEMENTS = 10_000;
/** The styles of a carousel grow with the square of the number of its images. */
const MAX_CAROUSEL_IMAGES = 100;
/** Addresses and images, which may be long, are not copied from an element of the body. */
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
  /** Elements and tags, with the one itself. */
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

/** The characters of the head's elements that are copied: all but styles, titles and the like. */
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

/** An element with those in it. */
function* elementsOf(node: MjmlNode): Generator<MjmlNode> {
  yield node;
  for (const child of node.children ?? []) yield* elementsOf(child);
}

/** @returns why HTML that is made of a tree might exceed what a thread can hold; null if it does not */
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
