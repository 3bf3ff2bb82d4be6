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

  it('takes less than 3 s of processor time for any order of 20,000 tags', () => {
    const before = process.cpuUsage();
    for (const html of ['<div>'.repeat(20_000), '<div>'.repeat(10_000) + '</p>'.repeat(10_000)])
      textFromHtml(html);
    expect(process.cpuUsage(before).user).toBeLessThan(3_000_000);
  });
});
