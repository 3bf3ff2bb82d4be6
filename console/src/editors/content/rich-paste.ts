/**
 * What gets into a text when something is pasted or dropped: only what the editor can show. Source that it would not
 * show, such as the attributes of an element, is written as it is, so it must never come from another page.
 */
import { Fragment, type Mark, type Node, Slice } from '@tiptap/pm/model';
import { LIQUID } from './liquid-value.ts';
import { EXACT, LIQUID_NODE } from './rich-doc.ts';
import { hrefOf, isAllowedHref, linkAttributes } from './rich-link.ts';

const WHOLE = new RegExp(`^(?:${LIQUID})$`);
const END = /\}\}|%\}/;

/**
 * Whether a source is one output or tag, and nothing else. Quotation marks do not always hide an end from the service,
 * so no end is allowed inside.
 */
export const isPastedLiquid = (source: string): boolean =>
  WHOLE.test(source) && source.search(END) === source.length - 2;

/** Returns the attributes of a pasted link; null if it must not be a link. Its address may hold outputs, but no tags. */
export function pastedLink(href: string): string | null {
  const isPlain = href
    .split(new RegExp(`(${LIQUID})`))
    .every((piece, index) =>
      index % 2 === 1 ? piece.startsWith('{{') && isPastedLiquid(piece) : !/\{[{%]/.test(piece),
    );
  return isPlain && isAllowedHref(href) ? linkAttributes('', href) : null;
}

function cleanMark({ type, attrs }: Mark): Mark[] {
  if (type.name !== 'link') return [type.create()];
  const attributes = pastedLink(hrefOf(String(attrs.attributes)));
  return attributes === null ? [] : [type.create({ attributes })];
}

function cleanNode(node: Node): Node[] {
  const { type, attrs } = node;
  const marks = node.marks.flatMap(cleanMark);
  if (node.isText) return [node.mark(marks)];
  if (type.name === EXACT || type.name === LIQUID_NODE) {
    const source = String(attrs.source);
    if (type.name === LIQUID_NODE && isPastedLiquid(source)) return [type.create({ source }, null, marks)];
    const shown = type.name === EXACT ? String(attrs.shown) : source;
    return shown === '' ? [] : [type.schema.text(shown, marks)];
  }
  const level = Number(attrs.level);
  const isLevel = type.name === 'heading' && Number.isInteger(level) && level >= 1 && level <= 6;
  return [type.create(isLevel ? { level } : null, node.isLeaf ? null : clean(node.content), marks)];
}

const clean = (fragment: Fragment): Fragment => Fragment.from(fragment.content.flatMap(cleanNode));

/** Returns a pasted slice with only what the editor can show. */
export function cleanPasted(slice: Slice): Slice {
  const content = clean(slice.content);
  const { openStart, openEnd } = Slice.maxOpen(content);
  return new Slice(content, Math.min(slice.openStart, openStart), Math.min(slice.openEnd, openEnd));
}
