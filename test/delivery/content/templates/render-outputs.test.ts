// The fast renderer gives the same output as the Liquid library, or leaves the content to the library.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Mode } from '../../../../src/delivery/content/templates/filters.ts';
import { parseLiquid, renderLiquid } from '../../../../src/delivery/content/templates/liquid.ts';
import { parsePieces } from '../../../../src/delivery/content/templates/parse-outputs.ts';
import { renderPieces } from '../../../../src/delivery/content/templates/render-outputs.ts';
import { enforceUrls } from '../../../../src/delivery/content/templates/urls.ts';
import { headerText } from '../../../../src/delivery/content/templates/values.ts';
import { valuesOf } from './sources.ts';

const values = valuesOf(
  {
    coupon: 'A<b>&"\'',
    count: 3,
    none: null,
    yes: true,
    no: false,
    list: ['x', 2, null, ['y']],
    object: { a: { b: 'deep' }, size: 'L' },
    url: 'https://a.example/?a=1&b=2',
    bad: 'javascript:alert(1)',
    html: '<p>Hi</p><a href="javascript:x">y</a>\n\u0001z',
    when: '2026-03-01T12:00:00Z',
    wide: 'ß👍🏽ǆ  ',
  },
  { data: { plan: 'Gold', 'odd key': 1 } },
);
const { variables, ...own } = values;
const scope = { ...variables, ...own };

function bothWays(liquid: string, mode: Mode): [fast: string | null, library: string] {
  const pieces = parsePieces(liquid, mode);
  const rendered = renderLiquid(parseLiquid(liquid, mode), scope);
  const library = { html: enforceUrls, text: (text: string) => text, header: headerText }[mode](rendered);
  return [pieces && renderPieces(pieces, values, mode), library];
}

const path = fc.constantFrom(
  'coupon',
  'count',
  'none',
  'yes',
  'no',
  'list',
  'list[1]',
  'list.first',
  'list.last',
  'list.size',
  'list[9]',
  'object',
  'object.a.b',
  'object["a"].b',
  'object.size',
  'coupon.size',
  'coupon.length',
  'url',
  'bad',
  'html',
  'when',
  'wide',
  'missing.path',
  'constructor',
  'object.__proto__',
  'contact.first_name',
  'contact.data.plan',
  'contact.data["odd key"]',
  'campaign.id',
  'event.amount',
  'unsubscribe_url',
  '"text"',
  "'it'",
  '1.50',
  '-2',
  'true',
  'nil',
);
const filter = fc.constantFrom(
  '',
  '| default: "you"',
  '| default: coupon',
  '| default: 5, allow_false: true',
  '| upcase',
  '| downcase',
  '| capitalize',
  '| strip',
  '| lstrip | rstrip',
  '| append: "<" | prepend: contact.first_name',
  '| truncate: 3',
  '| truncate: 5, ""',
  '| url_encode',
  '| escape',
  '| escape_once',
  '| newline_to_br',
  '| raw',
  '| strip_html',
  '| strip_newlines',
  '| date: "%Y-%m-%d %H:%M"',
  '| date: "%a %-d %B", "Asia/Tokyo"',
  '| in_css',
  '| in_name',
  '| raw | upcase',
  '| replace: "a", "b"',
  '| size',
);
const output = fc
  .tuple(fc.constantFrom('{{', '{{-', '{{ '), path, filter, fc.constantFrom('}}', ' -}}', ' }}'))
  .map((parts) => parts.join(' '));
const html = fc.constantFrom(
  ' text ',
  '\n\n',
  '<p title="',
  '">',
  '<a href="',
  "<a href='https://a.example/",
  "'>",
  '<img src="',
  '<b>',
  '<!-- ',
  ' -->',
  '}}',
  '',
);

describe('a content without tags', () => {
  it.each(['html', 'text', 'header'] as const)('renders as the library does, as %s', (mode) => {
    let fastOnes = 0;
    fc.assert(
      fc.property(fc.array(fc.oneof(output, html), { maxLength: 8 }), (parts) => {
        const [fast, library] = bothWays(parts.join(''), mode);
        if (fast === null) return;
        fastOnes += 1;
        expect(mode === 'html' ? enforceUrls(fast) : fast).toBe(library);
      }),
      { numRuns: 2_000, seed: 2_000 },
    );
    expect(fastOnes).toBeGreaterThan(800);
  });

  it('joins line breaks around an empty value in a header as the library does', () => {
    const [fast, library] = bothWays('a\n\n{{ missing }}\n\nb', 'header');
    expect([fast, library]).toEqual(['a b', 'a b']);
  });

  it('leaves a raw value in a URL to the library, because it may end the attribute', () => {
    expect(parsePieces('<a href="{{ coupon | raw }}">', 'html')).toBeNull();
  });

  it.each(['{% if x %}{% endif %}', '{{ x | where: "a" }}', '{{ a.b[c] }}', '{{ (1..5) }}', '{{ x == y }}'])(
    'is left to the library if it has %s',
    (liquid) => {
      expect(parsePieces(liquid, 'html')).toBeNull();
    },
  );

  it('refuses to become longer than 2 MB', () => {
    const pieces = parsePieces('{{ x }}'.repeat(10), 'html');
    expect(() => pieces && renderPieces(pieces, valuesOf({ x: '&'.repeat(50_000) }), 'html')).toThrow(
      'longer than 2 MB',
    );
  });
});
