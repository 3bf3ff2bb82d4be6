// MJML keeps every word of its author, or is refused with the place of what would be lost.
import { afterAll, describe, expect, it } from '@jest/globals';
import { createContentEngine } from '../../../../src/delivery/content/templates/engine.ts';
import { valuesOf, withBody } from './sources.ts';

const engine = createContentEngine({ threads: 1, compileMs: 60_000, renderMs: 60_000 });
afterAll(() => engine.close());

const TEXT = '<mj-text>Hi {{ x }}</mj-text>';
const column = (inner: string) =>
  `<mjml>\n<mj-body><mj-section><mj-column>\n${inner}\n</mj-column></mj-section></mj-body></mjml>`;

async function mail(body: string, variables: Record<string, unknown> = {}) {
  const { content, problems } = await engine.compile(withBody(body), 1);
  if (!content) throw new Error(problems.map(({ message }) => message).join('\n'));
  const { html, text } = await engine.render({ ...content, id: null, accountId: 1 }, valuesOf(variables));
  return { html: html ?? '', text: text ?? '' };
}

/** The messages of what makes a body unusable. A check finds the same as compiling does. */
async function errorsOf(body: string): Promise<string[]> {
  const { content, problems } = await engine.compile(withBody(body), 1);
  expect(content).toBeNull();
  expect(await engine.check(withBody(body), [], 1)).toEqual(problems);
  for (const { field, code } of problems)
    expect([field, code]).toEqual(['body', expect.stringMatching(/^(?:mjml_error|lost_liquid)$/)]);
  return problems.map(({ message }) => message);
}

describe('what stands before <mjml>', () => {
  // Heads of public letters: XML declarations and stylesheets, doctypes with entities, byte order marks, comments of
  // licences and editors, and the assignments of Liquid.
  it.each([
    '<?xml version="1.0" encoding="UTF-8"?>\n',
    '<?xml version="1.0"?><?xml-stylesheet href="a.css"?>',
    '<!doctype mjml>',
    '<!DOCTYPE mjml PUBLIC "-//MJML//EN" "https://a.example/m.dtd">\n',
    '<!DOCTYPE mjml [\n<!ENTITY nbsp "&#160;">\n]>\n',
    '\ufeff',
    '\u200b',
    '\ufeff<?xml version="1.0"?>\n<!doctype html>\n<!-- a -->\n\n',
    '<!-- a > b --><!-- <mjml> --> <!---->',
    `<!--${' x'.repeat(10_000)}-->`,
    '{% assign y = 1 %}',
    '{%- liquid\n assign y = 1\n-%}\n',
    '{% comment %}<mj-text>{% endcomment %}{% # note %}',
    '<!-- {% assign y = 1 %} {{ y }} -->',
    '{% capture y %}Words {{ x }}{% endcapture %}',
    '{% if y %}{% assign y = 2 %}{% endif %}',
    '{% raw %}{% endraw %}',
  ])('is not sent: %j', async (head) => {
    for (const body of [head + column(TEXT), `${head}<MJML lang="en">${column(TEXT).slice(6)}`]) {
      const { html, text } = await mail(body, { x: 'Ada' });
      expect(html).toMatch(/^<!doctype html>\n<html/);
      expect(text).toBe('Hi Ada');
    }
  });

  it('has its effect, in HTML and text', async () => {
    const head =
      '<!-- {% assign a = "A" %} -->\n{% capture b %}<b>B</b>{% endcapture %}{% if a %}{% assign c = "C" %}{% endif %}';
    const letter = column('<mj-text>{{ a }}{{ b }}{{ c }}</mj-text>');
    const { html, text } = await mail(`${head}${letter}<!-- end -->\n{% assign d = 1 %}`);
    expect(html).toContain('A<b>B</b>C');
    expect(text).toMatch(/^A(?:<b>)?B(?:<\/b>)?C$/);
    expect((await mail(`{% if z %}${letter}{% endif %}`)).text).toBe('');
  });

  it.each([
    ['Hello\n<MJML>', 'line 1, column 1: "Hello" stands before <mjml>, and would be lost'],
    [
      '---\nsubject: Hi\n---\n<mjml>',
      'line 1, column 1: "--- subject: Hi ---" stands before <mjml>, and would be lost',
    ],
    ['\n {{ x }}<mjml>', 'line 2, column 2: "{{ x }}" stands before <mjml>, and would be lost'],
    [
      '{% increment n %}<mjml>',
      'line 1, column 1: "{% increment n %}" stands before <mjml>, and would be lost',
    ],
    ['{% if x %}Yes{% endif %}<mjml>', 'line 1, column 11: "Yes" stands before <mjml>, and would be lost'],
    ['<p>Intro</p>\n<mjml>', 'line 1, column 1: <p> stands before <mjml>'],
    ['<?php echo 1 ?><mjml>', 'line 1, column 1: <?php echo 1 ?> is not run'],
    [
      '<!DOCTYPE mjml [<!ENTITY co "Acme">]>\n<mjml>',
      'line 1, column 1: the entity "co" of the DOCTYPE is not supported',
    ],
  ])('is refused if it would be lost: %j', async (head, message) => {
    expect(await errorsOf(column(TEXT).replace('<mjml>', head))).toEqual([message]);
  });

  it.each([
    ['</mjml>\n Bye', 'line 5, column 2: "Bye" stands after </mjml>, and would be lost'],
    ['</mjml><mjml></mjml>', 'line 4, column 43: a body has only one <mjml>'],
    ['</mjml><p>x</p>', 'line 4, column 43: <p> stands after </mjml>'],
  ])('as what stands after it: %j', async (tail, message) => {
    expect(await errorsOf(column(TEXT).replace('</mjml>', tail))).toEqual([message]);
  });

  it.each([
    '<mj-section><mj-column><mj-text>x</mj-text></mj-column></mj-section>',
    '<mj-body><mj-section></mj-section></mj-body>',
    '\n<!-- x --><mj-text>x</mj-text>',
    '<mj-include path="a.mjml" /><mj-section></mj-section>',
  ])('must not be missing: %s', async (body) => {
    expect(await errorsOf(body)).toEqual([
      expect.stringMatching(/^line [12], column \d+: <mj-[a-z]+> must stand in <mjml>$/),
    ]);
  });

  it.each([
    'Write <mjml> first',
    '<p>Write &lt;mjml></p>',
    '<p>x</p><!-- <mjml> -->',
    '<a title="<mjml >">x</a>',
  ])('may be a letter about MJML: %s', async (body) => {
    expect((await mail(body)).text).toMatch(/Write <mjml>|x/);
  });
});

describe('words that MJML would drop', () => {
  it.each([
    ['<mj-text>One', 'line 3, column 1: <mj-text> is not closed before </mj-column>'],
    ['<mj-text>One<mj-text>Two</mj-text>', 'line 3, column 1: <mj-text> is not closed before <mj-text>'],
    [
      '<mj-text>One<mj-image src="https://a.example/b.png" alt="" />',
      'line 3, column 1: <mj-text> is not closed before <mj-image>',
    ],
    [
      '<mj-button href="https://a.example">Go</mj-text>',
      'line 3, column 1: <mj-button> is not closed before </mj-text>',
    ],
    ['<mj-raw><mj-text>One</mj-text></mj-raw>', 'line 3, column 1: <mj-raw> is not closed before <mj-text>'],
    ['One', 'line 3, column 1: "One" stands in <mj-column>, which shows no text'],
    ['{% if x %}One{% endif %}', 'line 3, column 11: "One" stands in <mj-column>, which shows no text'],
    ['<mj-text/>One', 'line 3, column 11: "One" stands in <mj-column>, which shows no text'],
    ['<![CDATA[One]]>', 'line 3, column 10: "One" stands in <mj-column>, which shows no text'],
    [
      '<mj-image src="https://a.example/b.png" alt="">One</mj-image>',
      'line 3, column 48: "One" stands in <mj-image>, which shows no text',
    ],
    ['<mj-social>One</mj-social>', 'line 3, column 12: "One" stands in <mj-social>, which shows no text'],
    ['<div>One</div>', 'line 3, column 1: <div> is not an element of MJML, and would be lost'],
    ['<p>One <b>two</b></p>', 'line 3, column 1: <p> is not an element of MJML, and would be lost'],
    [
      '<img src="https://a.example/b.png" alt="">',
      'line 3, column 1: <img> is not an element of MJML, and would be lost',
    ],
    [
      '<mj-heading>One</mj-heading>',
      'line 3, column 1: <mj-heading> is not an element of MJML, and would be lost',
    ],
    ['<mj-qr value="One" />', 'line 3, column 1: <mj-qr> is not an element of MJML, and would be lost'],
    [
      '<mj-include path="./a.mjml" />',
      'line 3, column 1: <mj-include> cannot be used: a template has no files',
    ],
    [
      '<mj-text color="red>One</mj-text>\n<mj-text color="red">Two</mj-text>',
      'line 3, column 1: a quotation mark of <mj-text> is not closed',
    ],
    ['<mj-text color="red>One</mj-text>', 'line 3, column 1: a tag or a quotation mark is not closed'],
    ['<!-- <mj-text>One</mj-text>', 'line 3, column 1: a comment is not closed'],
    ['{{ x }}', 'line 3, column 1: MJML has no place for {{ x }} where it stands'],
    [
      '<mj-carousel><mj-carousel-image src="https://a.example/b.png" alt="">One</mj-carousel-image></mj-carousel>',
      'line 3, column 70: "One" stands in <mj-carousel-image>, which shows no text here',
    ],
    ['<mj-title>One</mj-title>', 'line 3, column 1: <mj-title> belongs in <mj-head>'],
  ])('in a column are refused with their place: %s', async (inner, message) => {
    expect(await errorsOf(column(inner))).toEqual([message]);
  });

  it.each([
    [
      '<mjml><mj-body>\n  One</mj-body></mjml>',
      'line 2, column 3: "One" stands in <mj-body>, which shows no text',
    ],
    [
      '<mjml><mj-head><mj-text>One</mj-text></mj-head><mj-body></mj-body></mjml>',
      'line 1, column 16: <mj-text> does not belong in <mj-head>',
    ],
    ['<mjml><mj-section></mj-section></mjml>', 'line 1, column 7: <mj-section> must stand in <mj-body>'],
    ['<mjml><mj-body><?= $x ?></mj-body></mjml>', 'line 1, column 16: <?= $x ?> is not run'],
    ['<mjml>One<mj-body></mj-body></mjml>', 'line 1, column 7: "One" stands in <mjml>, which shows no text'],
    [
      '<mjml><mj-head><mj-preview>One</mj-preview><mj-preview>Two</mj-preview></mj-head><mj-body></mj-body></mjml>',
      'line 1, column 28: "One" stands in <mj-preview>, which shows no text here',
    ],
  ])('elsewhere, too: %s', async (body, message) => {
    expect(await errorsOf(body)).toEqual([message]);
  });

  it('are all reported, with the lines and columns that their author sees', async () => {
    const body = column('{% comment %}\n\n{% endcomment %}\n{{ x }} One\n<b>Two</b>')
      .replace('<mj-section>', '{% if\n x %}<mj-section>Zero')
      .replace('</mj-section>', '</mj-section>{% endif %}');
    expect(await errorsOf(body)).toEqual([
      'line 3, column 18: "Zero" stands in <mj-section>, which shows no text',
      'line 7, column 9: "One" stands in <mj-column>, which shows no text',
      'line 8, column 1: <b> is not an element of MJML, and would be lost',
    ]);
  });

  it.each([
    ['<MJ-TEXT>One</MJ-TEXT>', 'One'],
    ['<mj-text><![CDATA[One <b>two</b>]]></mj-text>', 'One two'],
    ['<mj-text>a < b and {{ x }}</mj-text>', 'a < b and'],
    ['<mj-table><tr><td>One</td></tr></mj-table>', 'One'],
    [
      '<mj-accordion><mj-accordion-element><mj-accordion-title>One</mj-accordion-title><mj-accordion-text>Two</mj-accordion-text></mj-accordion-element></mj-accordion>',
      'One\n\nTwo',
    ],
    [
      '<mj-navbar><mj-navbar-link href="https://a.example">One</mj-navbar-link></mj-navbar>',
      'One <https://a.example>',
    ],
    [
      '<mj-social><mj-social-element name="web" href="https://a.example">One</mj-social-element></mj-social>',
      'One <https://a.example>',
    ],
    ['<mj-raw><tr><td>One</td></tr></mj-raw>', 'One'],
    ['<mj-text>One</mj-text><br><mj-text>Two</mj-text>', 'One\n\nTwo'],
  ])('are kept in %s', async (inner, text) => {
    expect((await mail(column(inner))).text.replace(/ *\n\s*/g, (gap) => gap.replaceAll(' ', ''))).toContain(
      text,
    );
  });
});

it('warns of unknown elements whose words are kept', async () => {
  const source = withBody(column('<mj-text>\n<mj-li>One</mj-li></mj-text><mj-foo />'));
  expect(await engine.check(source, [], 1)).toEqual([
    expect.objectContaining({ message: "line 4: mj-foo: Element mj-foo doesn't exist or is not registered" }),
    expect.objectContaining({ message: 'line 4, column 1: <mj-li> is not an element of MJML' }),
    expect.objectContaining({ code: 'missing_unsubscribe_link' }),
  ]);
});

describe('a comment in MJML', () => {
  it.each([
    '<!-- {{ x }} -->',
    '<!--{{ x | default: "-" }}-->',
    '<!-- <mj-text>{{ x }} old</mj-text> -->',
    '<!-- {% if x %}<mj-text>old</mj-text>{% endif %} -->',
    '<!--[if mso]>{{ x }}<![endif]-->',
    '<!-- {% comment %} {{ x }} {% endcomment %} -->',
  ])('may contain Liquid: %s', async (comment) => {
    for (const body of [
      column(comment + TEXT),
      column(TEXT).replace('<mj-body>', `${comment}<mj-body>${comment}`),
    ]) {
      const { html, text } = await mail(body, { x: 'Ada' });
      expect(text).toBe('Hi Ada');
      expect(html).not.toMatch(/lqx|lqq|old/);
    }
  });

  it('keeps the effect of its tags', async () => {
    const body = column(
      '<!-- {% assign a = "A" %} --><!-- {% if vip %} --><mj-text>{{ a }}</mj-text><!-- {% else %} --><mj-text>B</mj-text><!-- {% endif %} -->',
    );
    expect((await mail(body, { vip: true })).text).toBe('A');
    expect((await mail(body)).text).toBe('B');
  });
});

describe('what looks like words, or like an attribute', () => {
  it.each(['&nbsp;', '&#160;&#xA0;', '&#8203;&zwnj;&shy;', '&NewLine;\n&emsp;'])(
    'is dropped between elements if it shows nothing: %j',
    async (blank) => {
      expect((await mail(column(blank + TEXT + blank), { x: 'Ada' })).text).toBe('Hi Ada');
    },
  );

  it('is refused between elements if an entity shows something', async () => {
    expect(await errorsOf(column(`&amp;${TEXT}`))).toEqual([
      'line 3, column 1: "&amp;" stands in <mj-column>, which shows no text',
    ]);
  });

  it.each(['mj-text', 'mj-section', 'mj-column'])(
    'is refused in the tag of %s if it is a tag of Liquid',
    async (name) => {
      const body = column(TEXT).replace(`<${name}>`, `<${name} {% if x %}css-class="a"{% endif %}>`);
      const errors = await errorsOf(body);
      expect(errors).toHaveLength(2);
      expect(errors[0]).toMatch(/^line \d, column \d+: MJML has no place for \{% if x %\} where it stands$/);
    },
  );

  it('is kept in a tag if it is a tag of Liquid in the value of an attribute', async () => {
    const body = column('<mj-text css-class="{% if x %}a{% endif %}">Hi</mj-text>');
    expect((await mail(body, { x: true })).html).toMatch(/class="a"/);
  });
});
