/** Reads the HTML of a text as a document of the text editor. */
import {
  BLOCKS,
  EXACT,
  LIQUID_NODE,
  MARK_TAGS,
  type ParagraphForm,
  type RichMark,
  type RichNode,
} from './rich-doc.ts';
import { htmlOf } from './rich-html.ts';
import { type RichTag, type RichText, type RichToken, tokensOf } from './rich-tokens.ts';

/** Thrown at HTML that the document cannot hold. */
class Unsupported extends Error {}

const markTypeOf = (tag: string) => MARK_TAGS.find(([, tags]) => tags.includes(tag))?.[0];

const isInline = (token: RichToken) =>
  token.kind === 'open' ? token.tag === 'br' || markTypeOf(token.tag) !== undefined : token.kind !== 'close';

/** Attributes of the editor, without those that have their usual value. */
const attrsOf = (given: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== '' && value !== null));

class Reader {
  readonly #tokens: readonly RichToken[];
  #at = 0;

  constructor(tokens: readonly RichToken[]) {
    this.#tokens = tokens;
  }

  document(): RichNode {
    if (this.#tokens.length === 0) return { type: 'doc', content: [paragraph('start', [])] };
    const first = this.#tokens.find(({ kind }) => kind !== 'space');
    if (!first || isInline(first)) {
      const content = this.#inline();
      if (this.#peek()) throw new Unsupported();
      return { type: 'doc', content: [paragraph('bare', content)] };
    }
    const { nodes, tail } = this.#blocks(null);
    const last = nodes.at(-1);
    if (last && tail !== '') last.attrs = { ...last.attrs, after: tail };
    return { type: 'doc', content: nodes };
  }

  #peek(): RichToken | undefined {
    return this.#tokens[this.#at];
  }

  #close(tag: string): void {
    const token = this.#peek();
    if (token?.kind !== 'close' || token.tag !== tag || token.attributes !== '') throw new Unsupported();
    this.#at += 1;
  }

  #space(): string {
    const token = this.#peek();
    if (token?.kind !== 'space') return '';
    this.#at += 1;
    return token.source;
  }

  /** @param end the element that contains the blocks; its end is read, too */
  #blocks(end: string | null, only?: string): { nodes: RichNode[]; tail: string } {
    const nodes: RichNode[] = [];
    for (;;) {
      const lead = this.#space();
      const token = this.#peek();
      if (!token && end === null) return { nodes, tail: lead };
      if (token?.kind === 'close' && end !== null) {
        this.#close(end);
        return { nodes, tail: lead };
      }
      if (token?.kind !== 'open' || (only !== undefined && token.tag !== only)) throw new Unsupported();
      if (only === undefined && token.tag === 'li') throw new Unsupported();
      nodes.push(this.#block(token, lead));
    }
  }

  #block({ tag, attributes }: RichTag, lead: string): RichNode {
    const type = Object.hasOwn(BLOCKS, tag) ? BLOCKS[tag] : undefined;
    if (type === undefined) throw new Unsupported();
    this.#at += 1;
    if (tag === 'hr') return { type, attrs: attrsOf({ attributes, lead }) };
    if (type === 'paragraph' || type === 'heading') {
      const content = this.#inline();
      this.#close(tag);
      const level = type === 'heading' ? Number(tag.slice(1)) : null;
      const form = type === 'paragraph' && content.length === 0 ? 'empty' : null;
      return node(type, { attributes, lead, level, form }, content);
    }
    if (tag === 'li') return this.#item(attributes, lead);
    const { nodes, tail } = this.#blocks(tag, tag === 'blockquote' ? undefined : 'li');
    if (nodes.length === 0) throw new Unsupported();
    return node(type, { attributes, lead, tail }, nodes);
  }

  #item(attributes: string, lead: string): RichNode {
    const begun = this.#at;
    this.#space();
    const first = this.#peek();
    this.#at = begun;
    const isBare = first !== undefined && (isInline(first) || first.kind === 'close');
    const bare = isBare ? [paragraph('bare', this.#inline())] : [];
    const { nodes, tail } = this.#blocks('li');
    const content = [...bare, ...nodes];
    // The editor has no list item that begins with anything else.
    if (content[0]?.type !== 'paragraph') throw new Unsupported();
    return node('listItem', { attributes, lead, tail }, content);
  }

  /** Reads up to a block, or the end of one. */
  #inline(): RichNode[] {
    const nodes: RichNode[] = [];
    const open: { tag: string; mark: RichMark }[] = [];
    for (;;) {
      const token = this.#peek();
      if (token?.kind === 'close' && open.at(-1)?.tag === token.tag) {
        this.#close(token.tag);
        open.pop();
        continue;
      }
      if (!token || !isInline(token)) break;
      this.#at += 1;
      const marks = open.map(({ mark }) => mark);
      if (!('tag' in token)) append(nodes, leafOf(token), marks);
      else if (token.tag === 'br')
        append(nodes, node('hardBreak', { attributes: token.attributes }, []), marks);
      else open.push(markOf(token, marks));
    }
    if (open.length > 0) throw new Unsupported();
    return nodes;
  }
}

function node(type: string, given: Record<string, unknown>, content: RichNode[]): RichNode {
  const attrs = attrsOf(given);
  return {
    type,
    ...(Object.keys(attrs).length > 0 ? { attrs } : {}),
    ...(content.length > 0 ? { content } : {}),
  };
}

const paragraph = (form: ParagraphForm, content: RichNode[]) => node('paragraph', { form }, content);

function markOf({ tag, attributes }: RichTag, around: readonly RichMark[]): { tag: string; mark: RichMark } {
  const [type, tags] = MARK_TAGS.find(([, each]) => each.includes(tag)) ?? ['styled', []];
  // A text of the editor has each mark once.
  if (around.some((each) => each.type === type)) throw new Unsupported();
  const attrs = attrsOf({ attributes, tag: tag === tags[0] ? '' : tag });
  return { tag, mark: Object.keys(attrs).length > 0 ? { type, attrs } : { type } };
}

function leafOf({ kind, source, shown }: RichText): RichNode {
  if (kind === 'liquid') return { type: LIQUID_NODE, attrs: { source } };
  // A single space is text. Line breaks and more spaces show one, too.
  const isText = kind === 'text' || (kind === 'space' && source === shown);
  return isText ? { type: 'text', text: shown } : { type: EXACT, attrs: { source, shown } };
}

/** Adds a leaf. Texts with the same marks are one, as in the editor. */
function append(nodes: RichNode[], leaf: RichNode, marks: RichMark[]): void {
  const last = nodes.at(-1);
  const isJoined =
    leaf.type === 'text' &&
    last?.type === 'text' &&
    JSON.stringify(last.marks ?? []) === JSON.stringify(marks);
  if (isJoined) last.text = `${last.text ?? ''}${leaf.text ?? ''}`;
  else nodes.push(marks.length > 0 ? { ...leaf, marks } : leaf);
}

/**
 * Reads a text.
 * @returns null if the document cannot hold it, or would not write exactly this HTML. It is then edited as source.
 */
export function parseHtml(html: string): RichNode | null {
  const tokens = tokensOf(html);
  if (!tokens) return null;
  try {
    const read = new Reader(tokens).document();
    return htmlOf(read) === html ? read : null;
  } catch (error) {
    if (error instanceof Unsupported) return null;
    throw error;
  }
}
