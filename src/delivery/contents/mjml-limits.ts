/**
 * What MJML may grow to. Attributes of the head are copied into every element, those of an element into the elements in it:
 * a text of 500 KB may become 800 MB, written at once, for which V8 would end the whole process and not only the thread.
 */
import type { MjmlNode } from './design-mjml.ts';

/** Characters that are copied, times the elements that they are copied into. */
const MAX_COPIED = 16_000_000;
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

/** Whether HTML that is made of a tree stays within what a thread can hold. */
export function growsTooLarge({ children = [] }: MjmlNode): boolean {
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
