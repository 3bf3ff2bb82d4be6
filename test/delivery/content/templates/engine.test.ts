// The engine renders MJML, HTML and text, escapes values, and adds a visible footer unless the content has one.
import { afterAll, describe, expect, it } from '@jest/globals';
import {
  type CompiledContent,
  type ContentSource,
  type ContentValues,
  RenderError,
} from '../../../../src/delivery/content/templates/content.ts';
import { createContentEngine } from '../../../../src/delivery/content/templates/engine.ts';
import { brand, sms, valuesOf, withBody, withDesign } from './sources.ts';

const engine = createContentEngine({ threads: 1, compileMs: 60_000, renderMs: 60_000 });
afterAll(() => engine.close());

async function compiled(source: ContentSource): Promise<CompiledContent> {
  const { content, problems } = await engine.compile(source, 1);
  expect(problems).toEqual([]);
  return content as CompiledContent;
}

async function problemsOf(source: ContentSource) {
  const { content, problems } = await engine.compile(source, 1);
  expect(content).toBeNull();
  return problems;
}

/** Compiles and renders a content. */
async function mail(source: ContentSource, values: ContentValues = valuesOf()) {
  const { html, text, subject } = await engine.render(
    { ...(await compiled(source)), id: null, accountId: 1 },
    values,
  );
  return { html: html ?? '', text: text ?? '', subject: subject ?? '' };
}

describe('a body', () => {
  it('that begins with <mjml is MJML', async () => {
    const body =
      '<mjml><mj-body><mj-section><mj-column><mj-text>Hi {{ contact.first_name }}</mj-text></mj-column></mj-section></mj-body></mjml>';
    const { html, text } = await mail(withBody(body));
    expect(html).toContain('Hi Ada');
    expect(html).not.toMatch(/<mj|lqx/);
    expect(text).toBe('Hi Ada');
  });

  it('with tags is HTML, and becomes a complete document', async () => {
    const { html, text } = await mail(withBody('<p>Hi {{ contact.first_name }}</p>'));
    expect(html).toMatch(/^<!doctype html>[^]*<body>\s*<p>Hi Ada<\/p>\s*<\/body>/);
    expect(text).toBe('Hi Ada');
  });

  it('that is a document stays unchanged', async () => {
    const body = '<html><head><title>T</title></head><body class=x><p>Hi</p></body></html>';
    expect((await compiled(withBody(body))).html).toBe(body);
  });

  it('without tags is text in paragraphs, with links', async () => {
    const body =
      'Hi <there> {{ contact.first_name }}\nline\n\nSee https://a.example/x?a=1&b=2.\n\n{{ unsubscribe_url }}';
    const { html, text } = await mail(withBody(body));
    expect(html).toContain('<p>Hi &lt;there&gt; Ada<br>');
    expect(html).toContain('<a href="https://a.example/x?a=1&amp;b=2">https://a.example/x?a=1&amp;b=2</a>.');
    expect(html).toContain('<a href="https://mail.example/u/abc?x=1&amp;y=2">');
    expect(text).toBe(
      body
        .replace('{{ contact.first_name }}', 'Ada')
        .replace('{{ unsubscribe_url }}', 'https://mail.example/u/abc?x=1&y=2'),
    );
  });

  it('keeps Liquid with quotes and brackets in any place', async () => {
    const output = '{{ contact.first_name | default: "a > b <c>" }}';
    const body = `<a href="https://a.example/{{ x | default: "y" }}" title='${output}'>${output}</a>`;
    const { html } = await mail(withBody(body), valuesOf({ x: 'z' }, { first_name: null }));
    expect(html).toContain(`<a href="https://a.example/z" title='a &gt; b &lt;c&gt;'>a &gt; b &lt;c&gt;</a>`);
  });

  it('keeps conditions between the elements of MJML', async () => {
    const section = (text: string) =>
      `<mj-section><mj-column><mj-text>${text}</mj-text></mj-column></mj-section>`;
    const body = `<mjml><mj-body>{% if contact.data.vip %}${section('Gold')}{% else %}${section('Tin')}{% endif %}</mj-body></mjml>`;
    expect((await mail(withBody(body), valuesOf({}, { data: { vip: true } }))).text).toBe('Gold');
    expect((await mail(withBody(body))).text).toBe('Tin');
  });

  it('omits comments of Liquid', async () => {
    const { html } = await compiled(withBody('<p>a{% comment %}secret {{ x }}{% endcomment %}b</p>'));
    expect(html).toContain('<p>ab</p>');
  });
});

describe('a name in a content', () => {
  it('is listed with the contact’s paths', async () => {
    const body =
      '<p>{{ contact.data.plan | default: coupon }} {% for item in order.items %}{{ item.name }}{{ contact.data.x.y.size }}{% endfor %}</p>';
    const { variables, paths } = await compiled(withBody(body, { subject: '{{ contact.first_name }}' }));
    expect(variables).toEqual([
      'contact.data.plan',
      'contact.data.x.y',
      'contact.first_name',
      'coupon',
      'order.items',
    ]);
    expect(paths).toEqual(['data.plan', 'data.x.y', 'first_name']);
  });

  it('stands for every path of a contact if the contact is used as a whole', async () => {
    const { paths } = await compiled(withBody('<p>{% assign c = contact %}{{ c.first_name }}</p>'));
    expect(paths).toContain('first_name');
    expect(paths).toContain('data');
  });
});

describe('a marketing footer', () => {
  const marketing = { footer: 'marketing' } as const;

  it.each([
    ['HTML', withBody('<html><body><p>x</p></body></html>', marketing)],
    ['a fragment', withBody('<p>x</p>', marketing)],
    ['MJML', withBody('<mjml><mj-body></mj-body></mjml>', marketing)],
    ['text', withBody('x', marketing)],
    ['a design', withDesign({ sections: [{ type: 'text', props: { html: 'x' } }] }, marketing)],
  ])('is added to %s, in HTML and text', async (_kind, source) => {
    const { html, text } = await mail(source);
    expect(html.slice(html.indexOf('Acme &amp; Söhne<br>'))).toMatch(
      /1 Main Street<br>\s*12345 Springfield<br>\s*<a href="https:\/\/mail\.example\/u\/abc\?x=1&amp;y=2"[^>]*>Unsubscribe<\/a>[^]*<\/body>/,
    );
    expect(text).toContain('1 Main Street');
    expect(text).toContain('https://mail.example/u/abc?x=1&y=2');
  });

  it('adds no second link or address', async () => {
    const body = '<p>{{ brand.physical_address }} <a href="{{ unsubscribe_url }}">Leave</a></p>';
    const { html } = await compiled(withBody(body, marketing));
    expect(html?.match(/unsubscribe_url/g)).toHaveLength(1);
    expect(html).not.toContain('Main Street');
  });

  it('does not mistake the name of the link in a text for a link', async () => {
    const { html } = await compiled(withBody('<p title="{{ unsubscribe_url }}">x</p>', marketing));
    expect(html).toContain('<a href="{{ unsubscribe_url }}"');
  });

  it.each([
    ['in a comment', '<!-- {{ brand.physical_address }} <a href="{{ unsubscribe_url }}">x</a> -->'],
    [
      'in code for Outlook',
      '<!--[if mso]>{{ brand.physical_address }}<a href="{{ unsubscribe_url }}">x</a><![endif]-->',
    ],
    [
      'between tags',
      '{% if false %}{{ brand.physical_address }} <a href="{{ unsubscribe_url }}">x</a>{% endif %}',
    ],
    [
      'in attributes of other elements',
      '<link title="{{ brand.physical_address }}" href="{{ unsubscribe_url }}">',
    ],
    [
      'with filters or more text',
      '{{ brand.physical_address | truncate: 0 }}<a href="#{{ unsubscribe_url }}">x</a>',
    ],
    ['without a text', '<title>{{ brand.physical_address }}</title><a href="{{ unsubscribe_url }}"> </a>'],
    ['as texts', '{{ "brand.physical_address" }}<a href=\'{{ "unsubscribe_url" | truncate: 1 }}\'>x</a>'],
    [
      'in a hidden element',
      '<div style="color:red; display: none !important"><div></div>{{ brand.physical_address }}<a href="{{ unsubscribe_url }}">x</a></div>',
    ],
    [
      'in an invisible one',
      '<span style="opacity:0">{{ brand.physical_address }}</span><b hidden><a href="{{ unsubscribe_url }}">x</a></b>',
    ],
    [
      'that a style sheet hides',
      '<style>.a, #b { display: none }</style><p class="x A">{{ brand.physical_address }}</p><i id="b"><a href="{{ unsubscribe_url }}">x</a></i>',
    ],
    ...['template', 'datalist', 'dialog', 'iframe', 'noembed', 'noframes', 'select'].map((name) => [
      `in ${name}`,
      `<${name}>{{ brand.physical_address }}<a href="{{ unsubscribe_url }}">x</a></${name}>`,
    ]),
    ['as a part of the address', '1 Main Street <a href="{{ contact.data.unsubscribe_url }}">x</a>'],
  ])('does not count an address and a link %s', async (_where, body) => {
    const { html } = await compiled(withBody(`<p>Hi ${body}</p>`, marketing));
    const footer = html?.slice(html.lastIndexOf('<table')) ?? '';
    expect(footer).toContain('12345 Springfield');
    expect(footer).toMatch(/<a href="\{\{ unsubscribe_url \}\}"[^>]*>Unsubscribe</);
  });

  it('does not count the preheader, which is hidden', async () => {
    const source = { ...withBody('<p>Hi</p>', marketing), preheader: '{{ brand.physical_address }}' };
    const { html } = await compiled(source);
    expect(html?.slice(html.lastIndexOf('<table'))).toContain('12345 Springfield');
  });

  it('ends a hidden paragraph that has no end tag at the next block', async () => {
    const { html } = await compiled(withBody('<p hidden>Hi<p>{{ brand.physical_address }}', marketing));
    expect(html?.slice(html.lastIndexOf('<table'))).not.toContain('12345 Springfield');
  });

  it('counts text after a hidden element, and in elements that are only small', async () => {
    const body =
      '<div style="display:none"><div>Hi</div><br></div><td style="font-size:0px">{{ brand.physical_address }}</td>';
    const { html } = await compiled(withBody(body, marketing));
    expect(html?.slice(html.lastIndexOf('<table'))).not.toContain('12345 Springfield');
  });

  it('counts what a later rule of the style sheet shows again', async () => {
    const body =
      '<style>.a{display:none} .a{display:block}</style><p class="a">{{ brand.physical_address }} <a href="{{ unsubscribe_url }}">x</a></p>';
    const { html, text } = await compiled(withBody(body, marketing));
    expect(html?.match(/unsubscribe_url/g)).toHaveLength(1);
    expect(text).toContain('{{ unsubscribe_url }}');
  });

  it('cannot be hidden by unclosed elements, or with the whole body', async () => {
    for (const body of [
      '<p>x</p><!-- ',
      '<p>x</p><style>',
      '<p>x</p><title>',
      '<div hidden>x',
      '<p>x</p><template>',
      '<p>x</p><noframes>',
      '<p>x</p><plaintext>',
      '<style>.a{display:none}</style><body class="a"><p>x</p></body>',
    ]) {
      const problems = await problemsOf(withBody(body, marketing));
      expect(problems).toEqual([expect.objectContaining({ code: 'missing_unsubscribe_link' })]);
    }
  });

  it('shows the brand’s texts unchanged, even if they look like Liquid', async () => {
    const names = { ...brand, company_name: '{{ contact.email }} {% if', physical_address: '<b>' };
    const { html } = await mail(withBody('<p>x</p>', { ...marketing, brand: names }));
    expect(html).toContain('{ { contact.email }} { % if<br>');
    expect(html).toContain('&lt;b&gt;');
  });
});

it('accepts many tags, although they stand in HTML and text', async () => {
  const body = `<p>${'{% if true %}{% endif %}'.repeat(2_001)}{{ x }}</p>`;
  const { html, text, variables } = await compiled(withBody(body));
  expect([html, text].map((each) => each?.split('{% if').length)).toEqual([2_002, 2_002]);
  expect(variables).toEqual(['x']);
  const more = '{% if true %}{% endif %}'.repeat(4_000);
  const [problem] = await problemsOf(
    withBody(`<p>${more}</p>`, { footer: 'marketing', preheader: '{{ x }}' }),
  );
  expect(problem?.message).toContain('there are more than 8,000 outputs and tags');
});

describe('a preheader', () => {
  it('is hidden text at the beginning, and not in the text alternative', async () => {
    const { html, text } = await mail(withBody('<p>x</p>', { preheader: 'a < {{ contact.first_name }}' }));
    expect(html).toMatch(/<body>\s*<div style="display:none[^"]*">a &lt; Ada<\/div>/);
    expect(text).toBe('x');
  });
});

describe('output', () => {
  const hostile = '"><img src=x onerror=alert(1)><script>\'';

  it('is escaped in HTML, not in the text and the subject', async () => {
    const source = withBody('<p>{{ x }}</p>', { subject: '{{ x }}' });
    const { html, text, subject } = await mail(source, valuesOf({ x: hostile }));
    expect(html).toContain('<p>&quot;&gt;&lt;img src=x onerror=alert(1)&gt;&lt;script&gt;&#39;</p>');
    expect(text).toBe(hostile);
    expect(subject).toBe(hostile);
  });

  it('with the filter raw is HTML, whose URLs are checked, and has no tags in the text', async () => {
    const x = '<b>Hi</b><a href="javascript:alert(1)">x</a>';
    for (const more of ['', '{% if true %}{% endif %}']) {
      const { html, text } = await mail(withBody(`<p>{{ x | raw }}</p>${more}`), valuesOf({ x }));
      expect(html).toContain('<p><b>Hi</b><a href="#">x</a></p>');
      expect(text).toBe('Hix');
    }
  });

  it('in an attribute is escaped even if it is raw', async () => {
    const { html } = await mail(withBody('<p title="{{ x | raw }}">a</p>'), valuesOf({ x: '" onclick="y' }));
    expect(html).toContain('<p title="&quot; onclick=&quot;y">');
  });

  it('cannot add attributes if an author omitted the quotes', async () => {
    const { html } = await mail(
      withBody('<p class={{ x }} id=a{{ x }}b>a</p>'),
      valuesOf({ x: 'a onclick=y' }),
    );
    expect(html).toContain('<p class="a onclick=y" id="aa onclick=yb">');
  });

  it("cannot add attributes if it is an attribute's name", async () => {
    const { html } = await mail(withBody('<p {{ x }}>a</p><{{ x }}>'), valuesOf({ x: 'a onclick="y"' }));
    expect(html).toContain('<p aonclicky>');
    expect(html).toContain('<aonclicky>');
  });

  it('cannot break out of a value of a style', async () => {
    const body =
      '<style>p { color: {{ x }} }</style><p style="color:{{ x }};background:url({{ u }})">a</p><p style="background:url(\'https://a.example/{{ x }}.png\')">b</p>';
    const x = 'red;} body{background:url(//evil.example)';
    const { html } = await mail(withBody(body), valuesOf({ x, u: 'javascript:alert(1)' }));
    expect(html).toContain('p { color: red bodybackgroundurlevil.example }');
    expect(html).toContain('style="color:red bodybackgroundurlevil.example;background:url()"');
    expect(html).toContain(
      `style="background:url('https://a.example/red;}%20body{background:url%28//evil.example%29.png')"`,
    );
    const good = await mail(withBody(body), valuesOf({ x: '#aabbcc', u: 'https://a.example/b.png' }));
    expect(good.html).toContain('style="color:#aabbcc;background:url(https://a.example/b.png)"');
  });

  it.each([
    ['javascript:alert(1)', '#'],
    [' jAvA\tscript:alert(1)', '#'],
    ['data:text/html,x', '#'],
    ['//a.example', '#'],
    ['', '#'],
    ['https://a.example/?a=1&b=2', 'https://a.example/?a=1&amp;b=2'],
    ['mailto:a@b.example', 'mailto:a@b.example'],
    ['tel:+1', 'tel:+1'],
    ['#top', '#top'],
  ])('as the URL %j is %j, in contents with and without tags', async (url, expected) => {
    for (const more of ['', '{% if true %}{% endif %}']) {
      const { html } = await mail(
        withBody(`<a href="{{ url }}">x</a><a href='{{ a }}{{ b }}'>${more}`),
        valuesOf({
          url,
          a: url.slice(0, 3),
          b: url.slice(3),
        }),
      );
      expect(html).toContain(`<a href="${expected}">x</a><a href='${expected}'>`);
    }
  });

  it('as an image must be a web address, even in code for Outlook', async () => {
    const body =
      '<img alt="" src="{{ x }}"><!--[if mso]><v:rect href="{{ y }}"><![endif]--><a href={{ y }}>a</a>';
    const { html } = await mail(withBody(body), valuesOf({ x: 'mailto:a@b.example', y: 'vbscript:x' }));
    expect(html).toContain('<img alt="" src="#"><!--[if mso]><v:rect href="#"><![endif]--><a href="#">a</a>');
  });

  it("removes an author's URLs that are not allowed in email", async () => {
    const { html } = await compiled(
      withBody('<a href="java&#115;cript:x">a</a><a href=/x>b</a><img alt src="cid:1">'),
    );
    expect(html).toContain('<a href="#">a</a><a href="#">b</a><img alt src="#">');
  });

  it('never breaks a header', async () => {
    for (const more of ['', '{% if true %}{% endif %}']) {
      const source = withBody('<p>x</p>', { subject: `Hi {{ x }}${more}` });
      const { subject } = await mail(source, valuesOf({ x: 'a\r\nBcc: b@c.example\u2028\u0000' }));
      expect(subject).toBe('Hi a Bcc: b@c.example ');
    }
  });

  it('has no control characters', async () => {
    const { html, text } = await mail(withBody('<p>{{ x }}{{ x | raw }}</p>'), valuesOf({ x: 'a\0\x1bb' }));
    expect(html).toContain('<p>abab</p>');
    expect(text).toBe('abab');
  });

  it('that was captured is not escaped twice', async () => {
    const body =
      '<p>{% capture x %}<b>{{ contact.first_name }}</b>{% endcapture %}{{ x }}{% if x == "<b>&lt;</b>" %}!{% endif %}</p>';
    const { html } = await mail(withBody(body), valuesOf({}, { first_name: '<' }));
    expect(html).toContain('<p><b>&lt;</b>!</p>');
  });
});

describe('a value', () => {
  it("is read only from an object's own properties", async () => {
    const names = [
      'constructor',
      '__proto__',
      'toString',
      'contact.constructor',
      'contact.__proto__.x',
      'contact.first_name.constructor',
      'variables',
      'contact.data',
    ];
    const body = `<p>[${names.map((name) => `{{ ${name} }}`).join('')}]</p>`;
    for (const more of ['', '{% if true %}{% endif %}', '{% assign __proto__ = contact %}{{ first_name }}']) {
      const { html } = await mail(withBody(body + more));
      expect(html).toContain('<p>[]</p>');
      expect(html).not.toContain('Ada');
    }
  });

  it('that Carillon defines takes precedence over a variable of the same name', async () => {
    for (const more of ['', '{% if true %}{% endif %}']) {
      const source = withBody(`<p>{{ contact.first_name }} {{ event }}{{ unsubscribe_url }}</p>${more}`);
      const { html } = await mail(
        source,
        valuesOf({ contact: { first_name: 'Eve' }, event: 'x', unsubscribe_url: 'y' }),
      );
      expect(html).toContain('<p>Ada https://mail.example/u/abc?x=1&amp;y=2</p>');
    }
  });
});

describe('invalid Liquid', () => {
  it.each([
    ['an open tag', 'a\n\n{% if x %}', 'line 3: tag {% if x %} not closed'],
    ['an open output', 'a {{ x', 'line 1: output "{{ x" not closed'],
    ['an unknown filter', '{{ x | foo }}', 'line 1: undefined filter: foo'],
    ['an unknown tag', '{% foo %}', 'line 1: tag "foo" not found'],
    [
      'a tag of Handlebars',
      '\n{{#if x}}',
      'line 2: invalid value expression: "#if x", a tag of another tool, such as Handlebars',
    ],
    [
      'a tag of Postmark',
      '{{{ x }}}',
      'line 1: invalid value expression: "{ x", a tag of another tool, such as Handlebars',
    ],
    ['a file', '{% include "/etc/passwd" %}', 'line 1: tag "include" not found'],
    ['a file as a partial', '{% render "/etc/passwd" %}', 'line 1: tag "render" not found'],
    ['a layout', '{% layout "x" %}', 'line 1: tag "layout" not found'],
    ['an expression in a text', '{{ x | where_exp: "y", "z" }}', 'line 1: undefined filter: where_exp'],
    ['deep nesting', '{% if x %}'.repeat(7_000), 'line 1: tags are nested too deeply'],
    ['a great many outputs', '{{ x }}'.repeat(8_001), 'line 1: there are more than 8,000 outputs and tags'],
  ])('such as %s, is reported with its line', async (_what, body, message) => {
    expect(await problemsOf(withBody(body))).toEqual([{ field: 'body', code: 'liquid_error', message }]);
  });

  it('is reported in every field', async () => {
    const design = {
      sections: [
        { type: 'text', props: { html: 'x' } },
        { type: 'button', props: { label: '{{', href: '#' } },
      ],
    };
    const problems = await problemsOf(withDesign(design, { subject: '{% x %}', preheader: '{{' }));
    expect(problems.map(({ field }) => field)).toEqual([
      'subject',
      'preheader',
      'design.sections.1.props.label',
    ]);
  });
});

describe('MJML', () => {
  it('reads no files', async () => {
    const body =
      '<mjml><mj-body><mj-include path="./package.json" type="html" /><mj-raw><mj-include path="./package.json"/></mj-raw><mj-include path="/etc/passwd" type="css"/></mj-body></mjml>';
    const problems = await problemsOf(withBody(body));
    expect(problems.filter(({ message }) => message.includes('<mj-include> cannot be used'))).toHaveLength(3);
    expect(JSON.stringify(problems)).not.toMatch(/carillon|root:/);
  });

  it('that is invalid is refused', async () => {
    expect(await problemsOf(withBody('<mjml>'))).toEqual([expect.objectContaining({ code: 'mjml_error' })]);
  });

  it('loads no fonts', async () => {
    const body =
      '<mjml><mj-body><mj-section><mj-column><mj-text font-family="Roboto">x</mj-text></mj-column></mj-section></mj-body></mjml>';
    expect((await compiled(withBody(body))).html).not.toContain('fonts.googleapis');
  });

  it('refuses Liquid that it would lose', async () => {
    const body =
      '<mjml><mj-body><mj-section><mj-column><mj-image alt="" src="https://a.example/b.png" width="{{ x }}px" /></mj-column></mj-section></mj-body></mjml>';
    expect(await problemsOf(withBody(body))).toEqual([expect.objectContaining({ code: 'lost_liquid' })]);
  });
});

describe('an SMS', () => {
  it.each([
    ['x'.repeat(160), 1],
    ['x'.repeat(161), 2],
    ['Hi {{ contact.first_name }}', 10],
    ['Hi {{ contact.first_name | truncate: 20 }}', 1],
    ['Hi {{ contact.first_name | truncate: 70 }}', 2],
    ['{% if x %}a{% endif %}', 10],
  ])('%j takes at most %d segments', async (body, segments) => {
    expect((await compiled(sms(body))).segments).toBe(segments);
  });

  it('is text only', async () => {
    const { content } = await engine.compile(sms('Hi {{ x }} <b>'), 1);
    expect(content).toMatchObject({ html: null, subject: null, text: 'Hi {{ x }} <b>' });
    const rendered = await engine.render(
      { ...(content as CompiledContent), id: null, accountId: 1 },
      valuesOf({ x: '&' }),
    );
    expect(rendered).toEqual({ subject: null, html: null, text: 'Hi & <b>' });
  });
});

describe('a batch', () => {
  it.each(['', '{% if true %}{% endif %}'])('has a result for each message (%j)', async (more) => {
    const content = {
      ...(await compiled(withBody(`<p>{{ contact.first_name }}</p>${more}`))),
      id: null,
      accountId: 1,
    };
    const results = await engine.renderBatch(
      content,
      ['Ada', 'Bob'].map((first_name) => valuesOf({}, { first_name })),
    );
    expect(results.map((result) => (result instanceof RenderError ? '' : result.text))).toEqual([
      'Ada',
      'Bob',
    ]);
  });

  it('is divided at its outputs as it is rendered', async () => {
    const source = withBody('<a href="{{ url }}?a={{ x }}">{{ x }}</a>', { subject: 'Hi {{ x }}' });
    const content = { ...(await compiled(source)), id: null, accountId: 1 };
    const divided = engine.divide(content);
    const values = valuesOf({ x: '<a\n', url: 'https://a.example/' });
    const joined = (['subject', 'html', 'text'] as const).map((field) => {
      const part = divided?.[field];
      const outputs = part?.render(values) ?? [];
      return part?.parts.map((text, n) => text + (outputs[n] ?? '')).join('');
    });
    const { subject, html, text } = await engine.render(content, values);
    expect(joined).toEqual([subject, html, text]);
    expect(divided?.html?.outputs).toEqual(['{{ url }}?a={{ x }}', 'x']);
  });

  it('is not divided if it has tags or raw HTML', async () => {
    for (const body of ['<p>{{ x | raw }}</p>', '<p>{% if x %}a{% endif %}</p>']) {
      expect(engine.divide({ ...(await compiled(withBody(body))), id: null, accountId: 1 })).toBeNull();
    }
  });
});
