// Tracking replaces only the targets of web links, and adds the pixel at the right place.
import { describe, expect, it } from '@jest/globals';
import {
  htmlWithTokens,
  type LinkTracking,
  trackHtml,
} from '../../../../src/delivery/content/mime/tracked-html.ts';

const tracking: LinkTracking = {
  id: 'test',
  clickPrefix: 'https://t.test/c/',
  openPrefix: null,
  tokenOverhead: 33,
  maxUrlLength: 1_500,
  ownBases: ['https://t.test', 'https://carillon.test/app'],
};
const PIXEL =
  /<img src="https:\/\/t\.test\/o\/\d+" width="1" height="1" alt="" style="display:block;border:0">/;

/** Rewrites the links, with their numbers as tokens. */
function rewrite(html: string, changes: Partial<LinkTracking> = {}, headers: Record<string, string> = {}) {
  const tracked = trackHtml(html, headers, { ...tracking, ...changes });
  if (!tracked) return { html, links: [] };
  const tokens = tracked.slots.map(({ link }) => String(link));
  return { html: htmlWithTokens(tracked, tokens), links: tracked.links };
}

describe('a tracked link', () => {
  it.each([
    ['<a href="https://a.test/x?b=1&amp;c=%20#d">x</a>', 'https://a.test/x?b=1&c=%20#d'],
    ["<A class=b\n HREF = 'https://a.test/'>x</A>", 'https://a.test/'],
    ['<a href=http://a.test/?q=1>x</a>', 'http://a.test/?q=1'],
    ['<a href="  https://a.test/&#x3F;q  ">x</a>', 'https://a.test/?q'],
    ['<a href="HTTPS://A.test/&copy">x</a>', 'https://a.test/%C2%A9'],
    ['<a href="https://ä.test/ö">x</a>', 'https://xn--4ca.test/%C3%B6'],
    ['<area shape=rect href="https://a.test">', 'https://a.test'],
    ['<a href="https://a.test/1"href="https://a.test/2"/>', 'https://a.test/1'],
    ['<a href="https://a.test/{{x}}|y">x</a>', 'https://a.test/{{x}}|y'],
  ])('leads to the URL that %j stands for', (html, target) => {
    const { html: rewritten, links } = rewrite(html);
    expect(links).toEqual([target]);
    expect(rewritten).toContain('https://t.test/c/1');
    expect(rewritten.length - 'https://t.test/c/1'.length).toBeLessThan(html.length);
  });

  it('replaces the value of the attribute and nothing else', () => {
    const html =
      '<!DOCTYPE html>\r\n<p>1 < 2 &amp; &nbsp;</P><a  title="a>b" HREF = "https://a.test/?a&amp;b" id=x >';
    expect(rewrite(html).html).toBe(html.replace('https://a.test/?a&amp;b', 'https://t.test/c/1'));
  });

  it('has the same number at each occurrence', () => {
    const { html, links } = rewrite('<a href="http://a/1"><a href="http://a/2"><a href="http://a/1">');
    expect(links).toEqual(['http://a/1', 'http://a/2']);
    expect(html.match(/\d(?=">)/g)).toEqual(['1', '2', '1']);
  });
});

describe('a link stays unchanged', () => {
  it.each([
    [
      'if it is no HTTP URL',
      '<a href="mailto:a@b.co"><a href="tel:+1"><a href="javascript:x"><a href="ftp://a/">',
    ],
    [
      'if it is an anchor or relative',
      '<a href="#top"><a href="/x"><a href="//a.test/"><a href=""><a href><a>',
    ],
    ['if it is not valid', '<a href="https://"><a href="https://[x/"><a href="{{ url }}">'],
    ['if it is our own', '<a href="https://t.test/c/x"><a href="https://carillon.test/app/u/1?x">'],
    ['if it has data-no-track', '<a data-no-track href="https://a/"><a href="https://a/" DATA-NO-TRACK="x">'],
    [
      'in other elements',
      '<link href="https://a/"><img src="https://a/"><form action="https://a/"><base href="https://a/">',
    ],
    [
      'in comments, scripts and text',
      '<!-- <a href="https://a/"> --><script>"<a href=\'https://a/\'>"</script><textarea><a href="https://a/"></textarea>',
    ],
    ['if its tag does not end', '<p><a href="https://a/"'],
    ['if its quote does not end', '<p><a href="https://a/>x</a>'],
  ])('%s', (_why, html) => {
    expect(rewrite(html)).toEqual({ html, links: [] });
  });

  it('if the header List-Unsubscribe names it', () => {
    const headers = { 'list-unsubscribe': '<mailto:u@a.test>, <https://a.test/u?id=1>' };
    const html = '<a href="https://a.test/u?id=1">Unsubscribe</a><a href="https://a.test/u?id=2">More</a>';
    expect(rewrite(html, {}, headers).links).toEqual(['https://a.test/u?id=2']);
  });

  it('if it is longer than 1,500 characters', () => {
    const url = (length: number) => `https://a.test/${'x'.repeat(length - 15)}`;
    expect(rewrite(`<a href="${url(1_500)}">`).links).toHaveLength(1);
    expect(rewrite(`<a href="${url(1_501)}">`).links).toHaveLength(0);
  });

  it('after a thousand others', () => {
    const html = Array.from({ length: 1_010 }, (_, n) => `<a href="http://a/${n}">`).join('');
    const { html: rewritten, links } = rewrite(html);
    expect(links).toHaveLength(1_000);
    expect(rewritten.endsWith('<a href="http://a/1009">')).toBe(true);
  });
});

describe('the pixel', () => {
  const withPixel = (html: string) =>
    rewrite(html, { openPrefix: 'https://t.test/o/', clickPrefix: null }).html;

  it.each([
    ['before the end of the body', '<body><p>x</p>', '</BODY></html>'],
    ['at the end of a fragment', '<p>x</p>', ''],
    ['before an unfinished tag', '<p>x</p>', '<a href="'],
    ['before an unclosed text-only element', '<p>x</p>', '<style>p { color: red }'],
    ['before an unclosed comment', '<p>x</p>', '<!-- x'],
  ])('is inserted %s', (_where, before, after) => {
    const html = withPixel(before + after);
    expect(html.slice(0, before.length)).toBe(before);
    expect(html.slice(before.length, html.length - after.length)).toMatch(PIXEL);
    expect(html.endsWith(after)).toBe(true);
  });

  it('is inserted between the links before and after it', () => {
    const html = '<body><a href="http://a/1"></body><a href="http://a/2">';
    const { html: rewritten } = rewrite(html, { openPrefix: 'https://t.test/o/' });
    expect(rewritten.replace(PIXEL, '|')).toBe(
      '<body><a href="https://t.test/c/1">|</body><a href="https://t.test/c/2">',
    );
  });
});
