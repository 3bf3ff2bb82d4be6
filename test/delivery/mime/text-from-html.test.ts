// The text version keeps the visible words and links of the HTML, in bounded time and size.
import { describe, expect, it } from '@jest/globals';
import { textFromHtml } from '../../../src/delivery/mime/text-from-html.ts';

describe('text generated from HTML', () => {
  it.each([
    ['<h1>Hi</h1><p>One</p><p>Two</p>', 'Hi\n\nOne\n\nTwo'],
    ['<a href="https://example.com/x">here</a>', 'here <https://example.com/x>'],
    ['<a href="https://example.com/x">https://example.com/x</a>', 'https://example.com/x'],
    [
      '<head><title>T</title><style>p{}</style></head><script>x()</script><p>Body &amp; soul</p>',
      'Body & soul',
    ],
    ['<div style="display:none">pre</div><div style="color:red; display: none">pre</div>seen', 'seen'],
    ['<img src="a.png" alt="logo">seen', 'seen'],
    [
      '<table><tr><th>Item</th><th>Price</th></tr><tr><td>Tea</td><td>3 €</td></tr></table>',
      'Item Price\nTea 3 €',
    ],
    ['<img src="a.png">', ''],
    ['', ''],
  ])('%s', (html, text) => {
    expect(textFromHtml(html)).toBe(text);
  });

  it('is empty above 20,000 tags, whether they open or close', () => {
    expect(textFromHtml('<p>x</p>'.repeat(10_000))).not.toBe('');
    expect(textFromHtml('<p>x'.repeat(20_001))).toBe('');
    expect(textFromHtml(`x${'</p>'.repeat(20_001)}`)).toBe('');
  });

  it.each([
    ['quotes', '<blockquote>', '> '],
    ['lists', '<ul><li>', ' * '],
  ])('indents the lines of at most ten %s inside each other', (_what, tag, prefix) => {
    const html = (depth: number) => `${tag.repeat(depth)}<pre>${'x\n'.repeat(1_000)}`;
    expect(textFromHtml(tag + 'x')).toBe(`${prefix}x`.trim());
    expect(textFromHtml(html(90)).length).toBeLessThanOrEqual(textFromHtml(html(10)).length + 200);
  });

  it('is empty above 100,000 preformatted lines', () => {
    expect(textFromHtml(`<pre>${'x\n'.repeat(100_000)}`)).not.toBe('');
    expect(textFromHtml(`<pre>${'x\n'.repeat(100_001)}`)).toBe('');
    expect(textFromHtml(`<p>${'x\n'.repeat(100_001)}`)).not.toBe('');
  });

  it.each([
    ['<ol type="i" start="3"><li>x<li>y</ol>', 'iii. x\n iv.  y'],
    ['<ol type="I" start="4000"><li>x</ol>', '4000. x'],
    ['<ol start="-1"><li>x<li>y</ol>', '-1. x\n 0.  y'],
    ['<ol start="1e300"><li>x</ol>', '1. x'],
    [`<ol start="${'9'.repeat(100)}"><li>x</ol>`, '1. x'],
    ['<ol start="many"><li>x</ol>', '1. x'],
  ])('numbers %s', (html, text) => {
    expect(textFromHtml(html)).toBe(text);
  });

  it('takes less than 3 s of processor time for any order of 20,000 tags', () => {
    const before = process.cpuUsage();
    for (const html of ['<div>'.repeat(20_000), '<div>'.repeat(10_000) + '</p>'.repeat(10_000)])
      textFromHtml(html);
    expect(process.cpuUsage(before).user).toBeLessThan(3_000_000);
  });
});
