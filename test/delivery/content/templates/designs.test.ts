// Every design renders to HTML that mail programs show, with a complete text, and invalid designs are refused.
import { afterAll, describe, expect, it } from '@jest/globals';
import type { CompiledContent } from '../../../../src/delivery/content/templates/content.ts';
import { createContentEngine } from '../../../../src/delivery/content/templates/engine.ts';
import { scanHtml } from '../../../../src/delivery/content/mime/html-scan.ts';
import { designs } from './designs.ts';
import { brand, valuesOf, withDesign } from './sources.ts';

const engine = createContentEngine({ threads: 1, compileMs: 60_000, renderMs: 60_000 });
afterAll(() => engine.close());

const values = {
  ...valuesOf({
    order: {
      number: 17,
      date: '2026-03-01',
      url: 'https://acme.example/o/17',
      items: [{ name: 'Cup <1>', price: '5.00' }],
    },
    code: '123456',
    picture: 'https://cdn.acme.example/p.png',
    title: 'A "title"',
    promo_url: 'https://acme.example/promo',
    currency: 'EUR',
  }),
  event: { resource_name: 'Plan', amount: 12.5, created_at: '2026-03-01T23:30:00Z' },
};

async function rendered(name: string) {
  const { content, problems } = await engine.compile(designs[name] as (typeof designs)[string], 1);
  expect(problems).toEqual([]);
  const { html, text } = await engine.render(
    { ...(content as CompiledContent), id: null, accountId: 1 },
    values,
  );
  return { html: html ?? '', text: text ?? '' };
}

/**
 * Features that Outlook for Windows, Gmail, Yahoo or Apple Mail do not support, according to caniemail.com
 * (github.com/hteumeuleu/caniemail, MIT), as of 2026. Features whose absence is harmless, such as rounded corners, are
 * left out.
 */
const unsupported: Record<string, RegExp> = {
  'css-display-flex, css-display-grid': /display\s*:\s*(?:inline-)?(?:flex|grid)/i,
  'css-position': /[;"\s{]position\s*:\s*(?:absolute|fixed|sticky)/i,
  'css-variables': /var\(\s*--/i,
  'css-unit-calc': /calc\(/i,
  'css-object-fit': /object-fit\s*:/i,
  'css-gap': /[;"\s{]gap\s*:/i,
  'css-filter, css-clip-path, css-transform': /[;"\s{](?:filter|clip-path|transform)\s*:/i,
  'css-animation': /[;"\s{](?:animation|transition)\s*:/i,
  'css-at-import, css-at-font-face, css-at-supports': /@(?:import|font-face|supports)/i,
  'css-unit-rem, css-unit-vw': /\d(?:rem|vw|vh)\b/i,
  'html-link': /<link\b/i,
  'html-form, html-input': /<(?:form|input|select|textarea)\b/i,
  'html-video, html-audio': /<(?:video|audio)\b/i,
  'html-svg, html-object, html-iframe': /<(?:svg|object|iframe|embed|canvas)\b/i,
  'html-script': /<script\b/i,
  'image-base64, image-svg': /src="(?:data:|[^"]*\.svg)/i,
  'html-style longer than 8 KB': /<style[^>]*>[^<]{8192}/i,
};

describe('the thirty sample designs', () => {
  it('number thirty', () => {
    expect(Object.keys(designs)).toHaveLength(30);
  });

  it.each(Object.keys(designs))('%s: mail programs show its HTML', async (name) => {
    const { html } = await rendered(name);
    const found = Object.entries(unsupported).filter(([, pattern]) => pattern.test(html));
    expect(found.map(([feature]) => feature)).toEqual([]);
    expect(html).toMatch(/^<!doctype html>/);
    expect(html).not.toMatch(/lqx|\{\{|\{%|undefined|NaN|\[object/);
    expect(Buffer.byteLength(html)).toBeLessThan(102 * 1024);
    const { tags, urls, bodyEnd } = scanHtml(html);
    expect(bodyEnd).toBeGreaterThan(0);
    expect(urls.filter(({ value }) => !/^(?:https:\/\/|mailto:)/.test(value))).toEqual([]);
    for (const { name: tag, attributes, start, end } of tags) {
      const has = (attribute: string) => attributes.some((each) => each.name === attribute);
      // Outlook shows an image without a width in its original size; every image needs alternative text.
      if (tag === 'img' && !(has('width') && has('alt'))) throw new Error(html.slice(start, end));
    }
  });

  it.each(Object.keys(designs))('%s: its elements are closed in order', async (name) => {
    const { html } = await rendered(name);
    expect(unbalanced(html)).toEqual([]);
  });

  it('have a text alternative with all their words and links', async () => {
    const { text } = await rendered('newsletter');
    expect(text).toMatchInlineSnapshot(`
     "hero <https://acme.example/hero>

     News of the month

     We looked at what our customers do on a rainy day, and found that most of them read. So here is a list of books.

     One

     Short.

     Two

     Short.

     Read all <https://acme.example/go>

     Social <https://social.example/acme>

     Acme & Söhne
     1 Main Street
     12345 Springfield
     Unsubscribe <https://mail.example/u/abc?x=1&y=2>"
    `);
    expect((await rendered('order confirmation')).text).toMatchInlineSnapshot(`
     "Thank you

     Order 17 of 1 March 2026

     Cup <1> 5.00

     Show order <https://acme.example/o/17>"
    `);
    expect((await rendered('conditional sections')).text).toBe('For all');
  });

  it('use the header, footer and theme of the brand if they have none', async () => {
    const { html, text } = await rendered('header and footer of the brand');
    expect(text).toMatch(/^Acme Weekly\s+Body\s+Sent with care\s+Acme & Söhne/);
    expect(html).toContain('font-family:Tahoma, Helvetica, Arial, sans-serif');
    expect(html).toContain('a{color:#00aa55}');
  });

  it('choose readable text on buttons', async () => {
    expect((await rendered('dark theme')).html).toMatch(/background:#ffcc00;color:#000000/);
    expect((await rendered('welcome')).html).toMatch(/background:#1f4fbf;color:#ffffff/);
  });
});

const VOID = new Set(['img', 'br', 'hr', 'meta', 'link', 'v:fill', 'o:allowpng']);

/** Finds elements outside of comments that are closed in the wrong order, or not at all. */
function unbalanced(html: string): string[] {
  const open: string[] = [];
  const wrong: string[] = [];
  const visible = html.replace(/<!--\[if [^]*?<!\[endif\]-->/g, '').replace(/<!--[^]*?-->/g, '');
  for (const [, closing, name = '', selfClosing] of visible.matchAll(
    /<(\/?)([a-z][a-z0-9:]*)(?:[^>"']|"[^"]*"|'[^']*')*?(\/?)>/gi,
  )) {
    const tag = name.toLowerCase();
    if (VOID.has(tag) || selfClosing) continue;
    if (!closing) open.push(tag);
    else if (open.pop() !== tag) wrong.push(tag);
  }
  return [...wrong, ...open];
}

describe('the schema of a design', () => {
  const section = (props: object, type = 'text', styles = {}) => ({ sections: [{ type, props, styles }] });

  it.each([
    ['an unknown section', section({}, 'video')],
    ['an unknown prop', section({ html: 'x', onclick: 'y' })],
    ['a color that ends the style', section({ html: 'x' }, 'text', { background_color: 'red;x' })],
    ['a padding that ends the style', section({ html: 'x' }, 'text', { padding: '1px;x' })],
    ['an unknown alignment', section({ html: 'x' }, 'text', { align: 'justify' })],
    ['one column', section({ columns: [{ sections: [] }] }, 'columns')],
    [
      'columns in columns',
      section(
        { columns: [{ sections: [{ type: 'columns', props: { columns: [] } }] }, { sections: [] }] },
        'columns',
      ),
    ],
    ['a font that ends the style', { theme: { font_body: 'x";' } }],
    ['too many sections', { sections: Array.from({ length: 101 }, () => ({ type: 'divider', props: {} })) }],
    [
      'too much text',
      { sections: Array.from({ length: 6 }, () => ({ type: 'text', props: { html: 'x'.repeat(99_000) } })) },
    ],
  ])('refuses %s', (_what, design) => {
    expect(() => withDesign(design)).toThrow();
  });

  it('keeps invalid values of a brand out of styles', async () => {
    const parts = {
      ...brand,
      default_theme: { brand_color: 'red;}x', font_body: {} },
      default_header: { type: 'script' },
    };
    const { content } = await engine.compile(
      withDesign({ sections: [{ type: 'button', props: { label: 'x', href: '#' } }] }, { brand: parts }),
      1,
    );
    expect(content?.html).not.toMatch(/\}x|<script/);
  });
});
