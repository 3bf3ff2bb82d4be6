// The text editor writes back every text exactly, and opens as source what it could not.
import { getSchema } from '@tiptap/core';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { RichNode } from '../../../console/src/editors/content/rich-doc.ts';
import { htmlOf } from '../../../console/src/editors/content/rich-html.ts';
import { parseHtml } from '../../../console/src/editors/content/rich-parser.ts';
import { richExtensions } from '../../../console/src/editors/content/rich-schema.ts';
import { designs } from '../../delivery/content/templates/designs.ts';

const schema = getSchema(richExtensions);

/** What the text editor has of a document, after its own rules have been applied. */
function inEditor(document: RichNode): RichNode {
  const node = schema.nodeFromJSON(document);
  node.check();
  return node.toJSON() as RichNode;
}

/** The HTML that the editor writes of a text that was not changed; null if it opens as source. */
function written(html: string): string | null {
  const document = parseHtml(html);
  return document && htmlOf(inEditor(document));
}

interface AnySection {
  type: string;
  props: { html?: string; columns?: { sections: AnySection[] }[] };
}

const textsOf = ({ type, props }: AnySection): string[] => [
  ...(type === 'text' || type === 'footer' ? [props.html ?? ''] : []),
  ...(props.columns ?? []).flatMap(({ sections }) => sections.flatMap(textsOf)),
];

describe('texts of the sample letters', () => {
  const texts = Object.entries(designs).flatMap(([name, { design }]) =>
    ((design as { sections: AnySection[] }).sections ?? []).flatMap((section) =>
      textsOf(section).map((text) => [name, text]),
    ),
  );

  it('are many', () => expect(texts.length).toBeGreaterThan(70));

  it('open in the text editor and stay unchanged', () => {
    expect(texts.map(([name, text = '']) => [name, written(text)])).toEqual(texts);
  });
});

describe('HTML that the text editor holds', () => {
  it.each([
    [''],
    ['<p></p>'],
    ['Tom & Jerry > "all"'],
    ['&amp;&lt;&gt;&nbsp;&rarr;&#8364;&#x20ac;'],
    ['<p>one<br>two<br/>three<br />four</p>\n\n<hr>\n'],
    ['<b>bold</b> <strong>strong</strong> <em>em</em> <i>i</i> <u>u</u> <s>s</s> <del>del</del>'],
    ['<p class="lead" style="color:red" dir="rtl">a <span style="color:#f00">red</span> word</p>'],
    ['<ul>\n  <li>one</li>\n  <li>two<ol start="3"><li><p>three</p></li></ol></li>\n</ul>'],
    ['<blockquote cite="x">\n<p>quote</p>\n</blockquote>'],
    ['<p>Hello\n   world</p>'],
    ['<a href="{{ order.url | default: "https://x.example/?a=1&b=2" }}" target="_blank">order</a>'],
    ["<a href='https://x.example/'>x</a>"],
    ['{% if contact.data.vip %}For you{% else %}For {{ contact.first_name | default: "all" }}{% endif %}'],
    ['{{ "}}" | upcase }} and { not } this'],
    ['<a href="https://x.example/"><strong><em>both</em></strong> {{ name }}</a>'],
  ])('%s stays as it is', (html) => expect(written(html)).toBe(html));
});

describe('HTML that the text editor would change', () => {
  it.each([
    ['a table', '<table><tr><td>x</td></tr></table>'],
    ['a division', '<div>x</div>'],
    ['an image', '<p><img src="https://x.example/a.png"></p>'],
    ['a comment', '<p>x<!-- y --></p>'],
    ['marks in another order', '<em><strong>x</strong></em>'],
    ['a mark in itself', '<b>x<b>y</b></b>'],
    ['marks that touch', '<b>x</b><b>y</b>'],
    ['a mark without a text', '<p>a<b></b>c</p>'],
    ['an element that is not closed', '<p>x'],
    ['an element closed twice', '<p>x</p></p>'],
    ['capital tags', '<P>x</P>'],
    ['attributes without quotation marks', '<p class=x>y</p>'],
    ['Liquid around paragraphs', '{% if a %}<p>x</p>{% endif %}'],
    ['Liquid that does not end', '<p>{{ x</p>'],
    ['text beside paragraphs', 'x<p>y</p>'],
    ['an empty list', '<ul></ul>'],
    ['a list with other things', '<ul><p>x</p></ul>'],
    ['an item that begins with a list', '<ul><li><ul><li>x</li></ul></li></ul>'],
    ['a script', '<script>alert(1)</script>'],
    ['an unknown reference', '&unheard;'],
  ])('opens %s as source', (_what, html) => expect(parseHtml(html)).toBeNull());
});

const PIECES = [
  ...['<p>', '</p>', '<p class="a">', '<h2>', '</h2>', '<ul>', '</ul>', '<li>', '</li>', '<blockquote>'],
  ...['</blockquote>', '<hr>', '<br>', '<br />', '<b>', '</b>', '<strong>', '</strong>', '<em>', '</em>'],
  ...['<a href="https://x.example/{{ id }}">', '</a>', '<span style="x">', '</span>', '{{ a }}', '{% b %}'],
  ...[
    '{{ a | default: "b" }}',
    ' ',
    '\n  ',
    'text',
    '&amp;',
    '&nbsp;',
    '&',
    '>',
    '"',
    '&rarr;',
    '<',
    '{',
    '}}',
  ],
];

it('writes exactly what it reads, whatever it reads', () => {
  let held = 0;
  const texts = fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }).map((pieces) => pieces.join(''));
  fc.assert(
    fc.property(texts, (html) => {
      const result = written(html);
      if (result === null) return;
      held += 1;
      expect(result).toBe(html);
    }),
    { numRuns: 3_000 },
  );
  expect(held).toBeGreaterThan(100);
});

const mark = (type: string) => ({ type });
const leaf = fc.oneof(
  fc.constantFrom('word', 'a & b', '<', '\u00a0', 'two words').map((text) => ({ type: 'text', text })),
  fc.constantFrom('{{ a }}', '{{ a | default: "<b>" }}', '{% c %}').map((source) => ({
    type: 'liquid',
    attrs: { source },
  })),
  fc.constant({ type: 'hardBreak' }),
);
const marked = fc
  .tuple(leaf, fc.subarray(['link', 'bold', 'italic', 'underline', 'strike']))
  .map(([node, marks]): RichNode => ({ ...node, marks: marks.map(mark) }));
const inline = fc.array(marked, { minLength: 1, maxLength: 6 });
const paragraph = inline.map((content): RichNode => ({ type: 'paragraph', content }));
const { block } = fc.letrec<{ block: RichNode }>((tie) => ({
  block: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    paragraph,
    fc
      .tuple(inline, fc.integer({ min: 1, max: 6 }))
      .map(([content, level]): RichNode => ({ type: 'heading', attrs: { level }, content })),
    fc.constant({ type: 'horizontalRule' }),
    fc
      .tuple(
        fc.constantFrom('bulletList', 'orderedList'),
        fc.array(fc.tuple(paragraph, fc.array(tie('block'), { maxLength: 1 })), {
          minLength: 1,
          maxLength: 3,
        }),
      )
      .map(([type, items]): RichNode => {
        const content = items.map(([first, more]) => ({ type: 'listItem', content: [first, ...more] }));
        return { type, content };
      }),
    fc
      .array(tie('block'), { minLength: 1, maxLength: 2 })
      .map((content): RichNode => ({ type: 'blockquote', content })),
  ),
}));

it('reads back whatever was written in the editor', () => {
  const documents = fc
    .array(block, { minLength: 1, maxLength: 4 })
    .map((content): RichNode => ({ type: 'doc', content }));
  fc.assert(
    fc.property(documents, (document) => {
      const html = htmlOf(inEditor(document));
      expect(written(html)).toBe(html);
    }),
    { numRuns: 500 },
  );
});
