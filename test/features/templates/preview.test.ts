// A template preview keeps the markup of mail but nothing that runs, loads or sends.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Parser } from 'htmlparser2';
import { sanitize } from '../../../src/features/templates/preview.ts';

const bodyOf = (html: string) => sanitize(html).slice('<!doctype html>'.length);

describe('a preview', () => {
  it('keeps the markup of mail', () => {
    const html =
      '<html><head><style>p > a { color: red }</style></head><body><table cellpadding="0"><tr><td style="a:b">' +
      '<a href="https://a.test/?a=1&amp;b=2">x &amp; y</a><br><img src="https://a.test/a.png" alt="A"></td></tr></table></body></html>';
    expect(bodyOf(html)).toBe(html);
  });

  it.each([
    '<script>a</script>',
    '<SCRIPT SRC=//a.test></SCRIPT>',
    '<p onclick="a()">',
    '<a href="javascript:a()">',
    '<a href=" java\tscript:a()">',
    '<img src=x onerror=a()>',
    '<img src="data:text/html,a">',
    '<iframe srcdoc="<script>a</script>"></iframe>',
    '<object data="a"></object>',
    '<embed src="a">',
    '<base href="https://a.test">',
    '<meta http-equiv="refresh" content="0;url=https://a.test">',
    '<link rel="stylesheet" href="https://a.test">',
    '<form action="https://a.test"><input name="a"></form>',
    '<svg><script>a</script></svg>',
    '<math><mtext></mtext></math>',
    '<style><!--</style><script>a</script>',
    '<noscript><p title="</noscript><script>a</script>">',
    '<p title="&quot;><script>a</script>">',
  ])('has nothing that runs, loads or sends: %s', (html) => {
    const names: string[] = [];
    const attributes: string[] = [];
    new Parser({
      onopentag(name, given) {
        names.push(name);
        attributes.push(...Object.entries(given).map(([key, value]) => `${key}=${value}`));
      },
    }).end(sanitize(html));
    expect(names.filter((name) => !['p', 'a', 'img', 'style', 'b'].includes(name))).toEqual([]);
    expect(attributes.filter((each) => /^on|script:|data:text|srcdoc|action/.test(each))).toEqual([]);
  });

  it('is about as long as the HTML, whatever that contains', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), (html) => {
        expect(sanitize(html).length).toBeLessThan(20 * html.length + 100);
      }),
    );
  });
});
