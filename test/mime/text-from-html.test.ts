import { describe, expect, it } from '@jest/globals';
import { textFromHtml } from '../../src/mime/text-from-html.ts';

describe('text made from HTML', () => {
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

  it.each([
    ['nested', '<div>'.repeat(400_000)],
    ['nested and closed by others', '<div>'.repeat(20_000) + '</p>'.repeat(400_000)],
    ['nested to just below the limit', '<div>'.repeat(10_000) + '</p>'.repeat(9_990)],
  ])('does not hold up everyone else for 2 MB of tags: %s', (_name, html) => {
    const started = performance.now();
    textFromHtml(html);
    expect(performance.now() - started).toBeLessThan(3_000);
  });
});
