// The HTML of mail keeps its looks, and loses everything that runs, sends, loads, or leaves its place on the page.
import { describe, expect, it } from '@jest/globals';
import { sanitize } from '../../../../../src/features/inbox/conversations/html/sanitize.ts';

const none = new Map<string, string>();
const clean = (html: string) => sanitize(html, none);

describe('kept', () => {
  it.each([
    '<h1>Hi</h1><p>a <b>b</b> <i>c</i></p><ul><li>d</li></ul><hr />',
    '<table width="600" cellpadding="0" bgcolor="#fff"><tbody><tr><td colspan="2" align="left">x</td></tr></tbody></table>',
    '<p style="color:#333;font-family:Arial, sans-serif;margin:0 auto;padding:4px 8px">x</p>',
    '<div style="border:1px solid rgba(0, 0, 0, 0.2);background-color:rgb(1,2,3)">x</div>',
    '<blockquote dir="rtl">a &lt; b &amp; c</blockquote>',
    '<font color="red" size="2">x</font>',
  ])('is %s', (html) => expect(clean(html)).toBe(html));

  it('is the text of elements that are not', () => {
    expect(clean('<custom-card><form>a<button>b</button></form></custom-card>')).toBe('ab');
  });
});

describe('removed', () => {
  it.each([
    ['<script>x()</script>a', 'a'],
    ['<style>p { color: red }</style>a', 'a'],
    ['<head><title>t</title></head><body onload="x()">a</body>', 'a'],
    ['<svg><circle /></svg><math><mi>x</mi></math>a', 'a'],
    ['<iframe src="https://x.test"></iframe>a', 'a'],
    ['<p id="a" class="b" name="c" data-x="d" onclick="x()" contenteditable>a</p>', '<p>a</p>'],
    ['<form action="https://x.test"><input autofocus onfocus="x()" />a</form>', 'a'],
    ['<meta http-equiv="refresh" content="0;url=https://x.test"><base href="https://x.test">a', 'a'],
    ['<!-- a --><![CDATA[b]]><?php c ?>d', 'd'],
  ])('from %s', (html, expected) => expect(clean(html)).toBe(expected));

  it.each([
    'position:fixed',
    'background:url(https://x.test)',
    'background-image:url(https://x.test)',
    'background:u\\72l(https://x.test)',
    'background:/**/url(https://x.test)',
    'list-style:url(https://x.test)',
    'margin:-400px',
    'margin-left:-1px',
    'width:expression(x())',
    'behavior:url(x)',
    'color:var(--x)',
    '--x:1',
    'z-index:99',
    'opacity:0',
    'transform:scale(9)',
    'font-family:"x;background:url(https://x.test)',
    'cursor:image-set("https://x.test" 1x)',
    'color:red}body{background:url(https://x.test)',
  ])('is the CSS %s', (css) => {
    expect(clean(`<p style='${css}'>a</p>`)).toMatch(/^<p(?: style="color:red")?>a<\/p>$/);
  });
});

describe('a link', () => {
  const attributes = 'rel="noopener noreferrer nofollow" target="_blank"';

  it.each([
    ['https://x.test/a?b=1&c', 'https://x.test/a?b=1&amp;c'],
    ['HTTP://X.test', 'http://x.test/'],
    ['mailto:ada@example.com', 'mailto:ada@example.com'],
    ['https://аррle.test/', 'https://xn--le-6kc8da.test/'],
  ])('to %s opens elsewhere, and shows its real address', (href, expected) => {
    const html = clean(`<a href="${href}" target="_self" rel="opener" ping="https://y.test">a</a>`);

    expect(html).toBe(`<a href="${expected}" ${attributes}>a</a>`);
  });

  it.each([
    'javascript:x()',
    ' java\nscript:x()',
    'java&#x09;script:x()',
    '&#106;avascript:x()',
    'data:text/html,<script>x()</script>',
    'vbscript:x()',
    'file:///etc/passwd',
    '//x.test',
    '/logout',
    '#top',
    'blob:https://x.test/1',
  ])('to %s leads nowhere', (href) => expect(clean(`<a href="${href}">a</a>`)).toBe('<a>a</a>'));
});

describe('an image', () => {
  const images = new Map([['logo@x', '/v1/my/a/1']]);

  it.each([
    ['<img src="cid:logo@x" alt="Logo" width="10">', '<img alt="Logo" width="10" src="/v1/my/a/1" />'],
    ['<img src="CID:logo%40x">', '<img src="/v1/my/a/1" />'],
    ['<img src="cid:other" alt="Logo">', '<img alt="Logo" />'],
    ['<img src="https://t.test/p.png" srcset="https://t.test/q.png 2x">', ''],
    ['<img src="data:image/png;base64,AAAA">', ''],
    ['<img src="cid:%">', ''],
  ])('%s becomes %j', (html, expected) => expect(sanitize(html, images)).toBe(expected));
});

describe('HTML that is too large', () => {
  it.each([
    ['long', 'a'.repeat(1024 * 1024 + 1)],
    ['full of tags', '<b></b>'.repeat(50_001)],
    ['deep', '<div>'.repeat(1_001)],
  ])('because it is %s is not shown', (_why, html) => expect(clean(html)).toBeNull());

  it('keeps the text below the hundredth level, without its elements', () => {
    const html = clean(`${'<div>'.repeat(200)}a${'</div>'.repeat(200)}`) ?? '';
    expect(html.match(/<div>/g)).toHaveLength(100);
    expect(html).toContain('a');
  });
});
