/**
 * The nodes and marks of the text editor. The raw attributes of elements travel with them and are never rendered: only
 * the writer of HTML reads them.
 */
import { Extension, InputRule, Mark, mergeAttributes, Node, nodePasteRule } from '@tiptap/core';
import { Plugin } from '@tiptap/pm/state';
import StarterKit from '@tiptap/starter-kit';
import { chipLabel, LIQUID } from './liquid-value.ts';
import { copiedSlice, rememberCopied } from './rich-copy.ts';
import { EXACT, LIQUID_NODE } from './rich-doc.ts';
import { hrefOf } from './rich-link.ts';
import { cleanPasted, isPastedLiquid, pastedLink } from './rich-paste.ts';

const BLOCKS = [
  'paragraph',
  'heading',
  'bulletList',
  'orderedList',
  'listItem',
  'blockquote',
  'horizontalRule',
];
const LEAVES = ['hardBreak'];
const MARKS = ['bold', 'italic', 'underline', 'strike'];

/** Never read from an element that is pasted, whose page could have chosen what is written. */
const kept = { default: '', rendered: false, parseHTML: () => null };

/** What an element has besides its content: its attributes as written, and the white space around it. */
const KeptSource = Extension.create({
  name: 'keptSource',
  addGlobalAttributes: () => [
    { types: [...BLOCKS, ...LEAVES, ...MARKS], attributes: { attributes: kept } },
    { types: BLOCKS, attributes: { lead: kept, tail: kept, after: kept } },
    { types: MARKS, attributes: { tag: kept } },
    { types: ['paragraph'], attributes: { form: kept } },
  ],
});

/** What is moved or copied within the editors stays as it is; all else that is pasted or dropped comes from elsewhere. */
const CleanPaste = Extension.create({
  name: 'cleanPaste',
  addProseMirrorPlugins: () => [
    new Plugin({
      props: {
        handleDOMEvents: { copy: rememberCopied, cut: rememberCopied },
        handlePaste(view, { clipboardData }) {
          const copied = copiedSlice(view, clipboardData);
          if (copied === null) return false;
          view.dispatch(view.state.tr.replaceSelection(copied).scrollIntoView().setMeta('paste', true));
          return true;
        },
        transformPasted: (slice, view) => (slice === view.dragging?.slice ? slice : cleanPasted(slice)),
      },
    }),
  ],
});

/** An output or tag of Liquid. What is typed or pasted as one becomes one. */
const Liquid = Node.create({
  name: LIQUID_NODE,
  group: 'inline',
  inline: true,
  atom: true,
  addAttributes: () => ({ source: kept }),
  parseHTML: () => [
    {
      tag: 'span[data-liquid]',
      getAttrs(element) {
        const source = element.getAttribute('data-liquid') ?? '';
        return isPastedLiquid(source) ? { source } : false;
      },
    },
  ],
  renderHTML({ node }) {
    const source = String(node.attrs.source);
    return ['span', { class: 'liquid-chip', 'data-liquid': source, title: source }, chipLabel(source)];
  },
  renderText: ({ node }) => String(node.attrs.source),
  addInputRules() {
    const find = new RegExp(String.raw`(?:${LIQUID})$`);
    return [
      new InputRule({
        find,
        handler: ({ state, range, match: [source] }) => {
          const node = this.type.create({ source }, null, state.doc.resolve(range.to).marks());
          state.tr.replaceWith(range.from, range.to, node);
        },
      }),
    ];
  },
  addPasteRules() {
    const find = new RegExp(LIQUID, 'g');
    const getAttributes = ([source]: RegExpMatchArray) => (isPastedLiquid(source) ? { source } : false);
    return [nodePasteRule({ find, type: this.type, getAttributes })];
  },
});

/** A text that is written in its own way, see `EXACT`. */
const Exact = Node.create({
  name: EXACT,
  group: 'inline',
  inline: true,
  atom: true,
  selectable: false,
  addAttributes: () => ({ source: kept, shown: kept }),
  renderHTML: ({ node }) => ['span', {}, String(node.attrs.shown)],
  renderText: ({ node }) => String(node.attrs.shown),
});

/** A link, which leads nowhere while it is edited. */
const Link = Mark.create({
  name: 'link',
  inclusive: false,
  addAttributes: () => ({ attributes: kept, tag: kept }),
  parseHTML: () => [
    {
      tag: 'a[href]',
      getAttrs(element) {
        const attributes = pastedLink(element.getAttribute('href') ?? '');
        return attributes === null ? false : { attributes };
      },
    },
  ],
  renderHTML: ({ mark }) => [
    'a',
    mergeAttributes({ class: 'rich-link', title: hrefOf(String(mark.attrs.attributes)) }),
    0,
  ],
});

/** Elements such as span and small. They keep their look in the letter; the editor shows none. */
const Styled = Mark.create({
  name: 'styled',
  addAttributes: () => ({ attributes: kept, tag: kept }),
  renderHTML: () => ['span', 0],
});

export const richExtensions = [
  StarterKit.configure({
    code: false,
    codeBlock: false,
    link: false,
    trailingNode: false,
    heading: { levels: [1, 2, 3, 4, 5, 6] },
  }),
  KeptSource,
  CleanPaste,
  Liquid,
  Exact,
  Link,
  Styled,
];
