/** Writes a document of the text editor as HTML. */
import {
  BLOCKS,
  EXACT,
  LIQUID_NODE,
  MARK_TAGS,
  REFERENCES,
  type RichMark,
  type RichNode,
} from './rich-doc.ts';

/** An attribute of the editor; '' if it is not set. */
const textOf = (of: RichNode | RichMark, name: string): string => {
  const value = of.attrs?.[name];
  return typeof value === 'string' ? value : '';
};

const escaped = (text: string) => text.replaceAll(/[&<>\u00a0]/g, (each) => REFERENCES[each] ?? each);

const rankOf = ({ type }: RichMark) => MARK_TAGS.findIndex(([each]) => each === type);

const markTag = (mark: RichMark) => textOf(mark, 'tag') || (MARK_TAGS[rankOf(mark)]?.[1][0] ?? 'span');

const isSame = (one: RichMark | undefined, other: RichMark | undefined) =>
  one !== undefined &&
  other !== undefined &&
  one.type === other.type &&
  markTag(one) === markTag(other) &&
  textOf(one, 'attributes') === textOf(other, 'attributes');

function leafHtml(node: RichNode): string {
  if (node.type === EXACT || node.type === LIQUID_NODE) return textOf(node, 'source');
  if (node.type === 'hardBreak') return `<br${textOf(node, 'attributes')}>`;
  return escaped(node.text ?? '');
}

function inlineHtml(nodes: readonly RichNode[]): string {
  let open: RichMark[] = [];
  let html = '';
  const closeTo = (count: number) => {
    for (const mark of open.slice(count).reverse()) html += `</${markTag(mark)}>`;
    open = open.slice(0, count);
  };
  for (const node of nodes) {
    const marks = (node.marks ?? []).toSorted((one, other) => rankOf(one) - rankOf(other));
    const different = marks.findIndex((mark, index) => !isSame(mark, open[index]));
    const kept = different === -1 ? marks.length : different;
    closeTo(kept);
    for (const mark of marks.slice(kept)) html += `<${markTag(mark)}${textOf(mark, 'attributes')}>`;
    open = marks;
    html += leafHtml(node);
  }
  closeTo(0);
  return html;
}

function elementHtml(node: RichNode, tag: string, content: string): string {
  return `<${tag}${textOf(node, 'attributes')}>${content}${textOf(node, 'tail')}</${tag}>`;
}

function paragraphHtml(node: RichNode, mayBeBare: boolean): string {
  const form = textOf(node, 'form');
  const content = inlineHtml(node.content ?? []);
  if (mayBeBare && form === 'bare') return content;
  if (content !== '') return elementHtml(node, 'p', content);
  if (mayBeBare && form === 'start') return '';
  return elementHtml(node, 'p', form === 'empty' ? '' : '&nbsp;');
}

function blockHtml(node: RichNode, mayBeBare: boolean): string {
  const lead = textOf(node, 'lead');
  const after = textOf(node, 'after');
  if (node.type === 'paragraph') return lead + paragraphHtml(node, mayBeBare) + after;
  if (node.type === 'horizontalRule') return `${lead}<hr${textOf(node, 'attributes')}>${after}`;
  const children = node.content ?? [];
  if (node.type === 'heading') {
    return lead + elementHtml(node, `h${Number(node.attrs?.level ?? 1)}`, inlineHtml(children)) + after;
  }
  const tag = Object.keys(BLOCKS).find((each) => BLOCKS[each] === node.type) ?? 'p';
  const inside = children.map((child, index) => blockHtml(child, node.type === 'listItem' && index === 0));
  return lead + elementHtml(node, tag, inside.join('')) + after;
}

/** Returns the HTML of a document. */
export function htmlOf({ content = [] }: RichNode): string {
  return content.map((node) => blockHtml(node, content.length === 1)).join('');
}
