/**
 * The text of a section as a document of the text editor, in the JSON of ProseMirror. Texts of attributes stay as they
 * are written, and are never interpreted: the editor shows none of them but `href`, as a hint.
 */

export interface RichMark {
  type: string;
  attrs?: Record<string, unknown>;
}

/** A node as ProseMirror writes it in JSON. */
export interface RichNode {
  type: string;
  attrs?: Record<string, unknown>;
  content?: RichNode[];
  marks?: RichMark[];
  text?: string;
}

/** Elements that hold inline content or blocks, and their nodes. */
export const BLOCKS: Readonly<Record<string, string>> = {
  p: 'paragraph',
  h1: 'heading',
  h2: 'heading',
  h3: 'heading',
  h4: 'heading',
  h5: 'heading',
  h6: 'heading',
  ul: 'bulletList',
  ol: 'orderedList',
  li: 'listItem',
  blockquote: 'blockquote',
  hr: 'horizontalRule',
};

/** Marks with their elements, outermost first. The first element is written for new text. */
export const MARK_TAGS: readonly (readonly [type: string, tags: readonly string[]])[] = [
  ['link', ['a']],
  ['styled', ['span', 'small', 'sub', 'sup', 'font', 'code', 'mark']],
  ['bold', ['strong', 'b']],
  ['italic', ['em', 'i']],
  ['underline', ['u']],
  ['strike', ['s', 'del', 'strike']],
];

/** Characters that are always written as a reference. */
export const REFERENCES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '\u00a0': '&nbsp;',
};

/**
 * How a paragraph is written.
 * - bare: without `<p>`, where it is alone, or begins a list item
 * - start: the text was empty; nothing is written until something is typed
 * - empty: `<p></p>`, which shows nothing. An empty paragraph of the editor is a blank line, so it gets a space.
 */
export type ParagraphForm = 'bare' | 'start' | 'empty' | null;

/** A piece of source that shows one text, but would be written in another way: `&rarr;`, or a line break in the source. */
export const EXACT = 'exact';

/** An output or tag of Liquid; its `source` is kept. */
export const LIQUID_NODE = 'liquid';
