// The text version keeps the visible words and links of the HTML, in bounded time and size.
import { describe, expect, it } from '@jest/globals';
import { textFromHtml } from '../../../../src/delivery/content/mime/text-from-html.ts';

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

  // What hides an element: the attribute `hidden` (HTML, 6.1) and declarations of CSS in any case and spacing, as
  // letters of public builders write them for preheaders and for parts that only phones show.
  it.each([
    '<p hidden>no</p>',
    '<p HIDDEN="">no</p>',
    '<p hidden="until-found">no</p>',
    '<p style="DISPLAY:NONE">no</p>',
    '<p style="Display : None ! Important">no</p>',
    '<p style="display:\tnone;">no</p>',
    '<p STYLE=display:none>no</p>',
    "<p style='color:red;display:none'>no</p>",
    '<p style="display:/* x */none">no</p>',
    '<a href="https://a.test" hidden><img alt="no"></a>',
    '<p style="visibility:hidden">no</p>',
    '<p style="opacity:0">no</p>',
    '<p style="max-height:0px;overflow:hidden">no</p>',
    '<p style="display:none!important">no<b>no</b></p>',
    '<table><tr><td style="display:NONE">no</td></tr></table>',
    '<div hidden><table><tr><td>no</td></tr></table><a href="https://a.test">no</a></div>',
    '<style>.preheader { display: NONE !important }</style><span class="x Preheader preheader">no</span>',
    '<style>/* } */ #pre, td.gone{color:red;display:none}</style><span id="pre">no</span>',
  ])('leaves out what is hidden by %s', (hidden) => {
    expect(textFromHtml(`<p>One</p>${hidden}<p>Two</p>`)).toBe('One\n\nTwo');
  });

  it.each([
    '<p style="display:block">yes</p>',
    '<p data-x="display:none" class="hidden">yes</p>',
    '<p hidden style="display:block">yes</p>',
    '<style>@media (max-width:9px){.x{display:none}} .y{display:block}</style><p class="x y">yes</p>',
    '<style>.x .y{display:none} .x:hover{display:none} p > .x{display:none}</style><p class="x">yes</p>',
    '<style>.x{display:none}</style><p class="x" style="display:block">yes</p>',
    '<p style="max-height:0">yes</p>',
  ])('keeps what is not hidden by %s', (shown) => {
    expect(textFromHtml(`<p>One</p>${shown}<p>Two</p>`)).toBe('One\n\nyes\n\nTwo');
  });

  it.each([
    ['<a href="https://a.test/x"><img src="i.png" alt="Shop now"></a>', 'Shop now <https://a.test/x>'],
    [
      '<a href="https://a.test/x"><table><tr><td><IMG ALT="Shop"></td></tr></table></a>',
      'Shop\n\n<https://a.test/x>',
    ],
    ['<a href="https://a.test/x"><img alt="Sale"> now</a> and', 'Sale now <https://a.test/x> and'],
    ['<a href="https://a.test/x"><img alt="  "></a>end', 'https://a.test/x end'],
    ['One<a href="https://a.test/x"><img></a>two', 'One https://a.test/x two'],
    ['<map><area href="https://a.test/x" alt="Left"></map>', 'Left <https://a.test/x>'],
    ['<a name="top"><img alt="logo"></a>seen', 'seen'],
    [
      '<style>.h{display:none}</style><a href="https://a.test/x"><img class=h alt="no"><img hidden alt="no">Yes</a>',
      'Yes <https://a.test/x>',
    ],
  ])('keeps the alt text of the linked image in %s', (html, text) => {
    expect(textFromHtml(html)).toBe(text);
  });

  it.each([
    ['<a href="">x</a>', 'x'],
    ['<a href=" ">x</a>', 'x'],
    ['<a href>x</a>', 'x'],
    ['<a href=" #top ">x</a>', 'x'],
    ['<a href="mailto:">x</a>', 'x'],
    ['<a href="javascript:void(0)">x</a>', 'x'],
    ['<a href="https://a.test/a\n b">x</a>', 'x <https://a.test/a%20b>'],
    ['<a href="mailto:a@b.test?subject=Hi">a@b.test</a>', 'a@b.test'],
    ['<a href="MAILTO:a@b.test?subject=Hi">Write</a>', 'Write <a@b.test>'],
    ['<a href="tel:+49301">+49301</a>', '+49301'],
    ['<a href="tel:+49-30-1">+49 (30) 1</a>', '+49 (30) 1'],
    ['<a href="sms:+49301?body=Hi">Text us</a>', 'Text us <sms:+49301?body=Hi>'],
    ['<a href="webcal://a.test/x.ics">Add</a>', 'Add <webcal://a.test/x.ics>'],
  ])('of %s has no empty brackets', (html, text) => {
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
