// The text part has what the HTML shows, its links without empty brackets, and what its Liquid needs.
import { afterAll, describe, expect, it } from '@jest/globals';
import type { ContentSource, ContentValues } from '../../../../src/delivery/content/templates/content.ts';
import { createContentEngine } from '../../../../src/delivery/content/templates/engine.ts';
import { valuesOf, withBody } from './sources.ts';

const engine = createContentEngine({ threads: 1, compileMs: 60_000, renderMs: 60_000 });
afterAll(() => engine.close());

/** Compiles and renders a content. */
async function mail(source: ContentSource, values: ContentValues = valuesOf()) {
  const { content, problems } = await engine.compile(source, 1);
  if (!content) throw new Error(JSON.stringify(problems));
  const { html, text, subject } = await engine.render({ ...content, id: null, accountId: 1 }, values);
  return { html: html ?? '', text: text ?? '', subject: subject ?? '' };
}

describe('a text of a content does not depend on what was rendered before', () => {
  it.each(['increment', 'decrement'])('with %s', async (tag) => {
    const counts = `{% ${tag} n %},{% ${tag} n %}`;
    const first = tag === 'increment' ? '0,1' : '-1,-2';
    const source = withBody(`<p>${counts}</p>`, { subject: `Hi ${counts}` });
    // A variable of the same name is not the counter's, and is not changed for the other texts either.
    for (const values of [valuesOf(), valuesOf({ n: 'x' })]) {
      const { html, text, subject } = await mail(source, values);
      expect(html).toContain(`<p>${first}</p>`);
      expect([text, subject]).toEqual([first, `Hi ${first}`]);
    }
  });

  it('with tablerow, which is a table in HTML only', async () => {
    const loop = (inner: string) =>
      `{% tablerow n in list cols:2 %}{{ n }}${inner}{{ tablerowloop.col_last }}{% endtablerow %}`;
    const source = (inner: string) => withBody(`<p>Before</p><table>${loop(inner)}</table><p>After</p>`);
    const cases = [
      ['', 'afalse btrue\ncfalse'],
      ['{% if n == "b" %}{% continue %}{% endif %}', 'afalse b\ncfalse'],
      ['{% if n == "b" %}{% break %}{% endif %}', 'afalse b'],
    ] as const;
    for (const [inner, table] of cases) {
      const { html, text } = await mail(source(inner), valuesOf({ list: ['a', 'b', 'c'] }));
      const cells = table.split('\n').map((row) => row.split(' '));
      const rows = cells.map(
        (row, y) =>
          `<tr class="row${y + 1}">${row.map((cell, x) => `<td class="col${x + 1}">${cell}</td>`).join('')}</tr>`,
      );
      expect(html).toContain(`<table>${rows.join('')}</table><p>After</p>`);
      expect(text).toBe(`Before\n\n${table}\n\nAfter`);
    }
  });
});

describe('the text of a content', () => {
  it.each(['', '{% if true %}{% endif %}'])('has no empty brackets for an empty link (%j)', async (more) => {
    const body =
      '<p><a href="{{ url }}">Go</a> or <a href="{{ unsubscribe_url }}">leave</a> or <a href="https://a.example/{{ url }}">home</a></p>';
    const values = { ...valuesOf({ url: '' }), unsubscribe_url: null };
    expect((await mail(withBody(body + more), values)).text).toBe('Go or leave or home <https://a.example/>');
    expect((await mail(withBody(body + more), valuesOf({ url: 'https://x.example' }))).text).toBe(
      'Go <https://x.example> or leave <https://mail.example/u/abc?x=1&y=2> or home <https://a.example/https://x.example>',
    );
    const plain = await mail(
      withBody(`Ada <{{ url }}>, {{ x }} <> {{ x }}${more}`),
      valuesOf({ url: '', x: 1 }),
    );
    expect(plain.text).toBe('Ada, 1 <> 1');
  });

  it('is rendered in linear time whatever stands in brackets', async () => {
    const long = 'x'.repeat(100_000);
    const startedAt = performance.now();
    expect((await mail(withBody(`Hi <{{ "${long}" }} >`))).text).toBe(`Hi <${long} >`);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });

  it('shows a link once if its label is the same value', async () => {
    const body = '<p><a href="{{ url }}">{{ url }}</a></p>';
    expect((await mail(withBody(body), valuesOf({ url: 'https://x.example' }))).text).toBe(
      'https://x.example',
    );
  });

  it('has the assignments that stand before the body of a document', async () => {
    const body =
      '{% assign x = "a" %}{% capture y %}b{{ x }}{% endcapture %}<html><head><title>{{ z }}</title>{% assign z = "c" %}</head><body><p>{{ x }}{{ y }}{{ z }}</p></body></html>{% comment %}d{% endcomment %}';
    const { html, text } = await mail(withBody(body));
    expect(html).toContain('<p>abac</p>');
    expect(text).toBe('abac');
  });

  it('has the tags of Liquid in comments, styles and hidden elements', async () => {
    const body =
      '<style>{% assign s = "s" %}p{color:{{ s }}}</style><!--<![endif]--><!--[if mso]>{% assign m = "m" %}x<![endif]--><div hidden>{% capture c %}c{{ s }}{% endcapture %}{% increment n %}{{ s }}</div><!-- {% if vip %} --><p>VIP {{ s }}{{ m }}{{ c }}</p><!-- {% else %} --><p>Hi</p><!-- {% endif %} -->';
    expect((await mail(withBody(body), valuesOf({ vip: true }))).text).toBe('VIP smcs');
    expect((await mail(withBody(body))).text).toBe('Hi');
  });

  it('has the conditions around a whole document', async () => {
    const body =
      '{% if x %}<html><body>A {{ y }}</body></html>{% else %}<html><body>B</body></html>{% endif %}';
    expect((await mail(withBody(body), valuesOf({ x: true, y: 1 }))).text).toBe('A 1');
    expect((await mail(withBody(body), valuesOf({}))).text).toBe('B');
  });
});
