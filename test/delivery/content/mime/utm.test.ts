// UTM parameters are added to web links in HTML and text, and nothing else changes.
import { describe, expect, it } from '@jest/globals';
import { addToHtmlLinks, addToTextLinks, withParameters } from '../../../../src/delivery/content/mime/utm.ts';

const parameters = [
  ['utm_source', 'news letter'],
  ['utm_campaign', 'a&b'],
] as const;
const ADDED = 'utm_source=news%20letter&utm_campaign=a%26b';
const nothingKept = () => false;

describe('the parameters of a web link', () => {
  it.each([
    ['https://a.test', `https://a.test?${ADDED}`],
    ['HTTP://a.test/x?', `HTTP://a.test/x?${ADDED}`],
    ['https://a.test/x?y=1', `https://a.test/x?y=1&${ADDED}`],
    ['https://a.test/x?y=1&', `https://a.test/x?y=1&${ADDED}`],
    ['https://a.test/x?y=1#top?z', `https://a.test/x?y=1&${ADDED}#top?z`],
    ['https://a.test/#top', `https://a.test/?${ADDED}#top`],
    ['https://a.test/?UTM_Source=x', 'https://a.test/?UTM_Source=x&utm_campaign=a%26b'],
    ['https://a.test/?utm_campaign&utm_source=', 'https://a.test/?utm_campaign&utm_source='],
    ['mailto:a@b.test', 'mailto:a@b.test'],
    ['tel:+1', 'tel:+1'],
    ['/relative', '/relative'],
  ])('of %j make it %j', (url, expected) => {
    expect(withParameters(url, parameters)).toBe(expected);
  });

  it('do not fail for half a surrogate pair', () => {
    expect(withParameters('https://a.test', [['utm_source', '\ud800']])).toBe(
      'https://a.test?utm_source=%EF%BF%BD',
    );
  });
});

describe('the links in HTML', () => {
  it('get parameters, and nothing else changes', () => {
    const html = `<p>https://a.test <a href="https://a.test/?x=1&amp;y='2'">1</a><area href=https://b.test><!-- <a href="https://c.test"> --><a href="mailto:x@a.test">`;
    const escaped = ADDED.replaceAll('&', '&amp;');
    expect(addToHtmlLinks(html, parameters, nothingKept)).toBe(
      `<p>https://a.test <a href="https://a.test/?x=1&amp;y=&#39;2&#39;&amp;${escaped}">1</a><area href=https://b.test?${escaped}><!-- <a href="https://c.test"> --><a href="mailto:x@a.test">`,
    );
  });

  it('stay unchanged if they are kept', () => {
    const html = '<a href="https://a.test/unsubscribe">x</a>';
    expect(addToHtmlLinks(html, parameters, (url) => url === 'https://a.test/unsubscribe')).toBe(html);
  });
});

describe('the links of a text', () => {
  it.each([
    [
      'See https://a.test/x, or <https://b.test>.',
      `See https://a.test/x?${ADDED}, or <https://b.test?${ADDED}>.`,
    ],
    ['(https://a.test/x)!', `(https://a.test/x?${ADDED})!`],
    ['nothttp://a.test', `nothttp://a.test?${ADDED}`],
    ['mail a@b.test', 'mail a@b.test'],
    ['https://. http://', 'https://. http://'],
  ])('of %j get parameters', (text, expected) => {
    expect(addToTextLinks(text, parameters, nothingKept)).toBe(expected);
  });

  // Where a link ends in a text: extended autolinks of GitHub Flavored Markdown (spec, 6.9), RFC 3986, appendix C, and
  // what links in newsletters are followed by.
  it.each([
    'L.',
    'L,',
    'L;',
    'L:',
    'L!',
    'L?',
    'L*',
    'L**',
    'L_',
    'L~',
    'L…',
    'L`',
    'L|',
    'L\\',
    "'L'",
    '(L)',
    '(see L).',
    '[L]',
    '[a](L)',
    '**[a](L)**',
    '{L}',
    '<L>',
    '“L”',
    '„L“',
    '‘L’',
    '«L»',
    '*L*',
    'L)]',
    '(L?)',
    '「L」',
    'L。次',
    'L、',
    '（L）',
    'L！',
    'L）。',
    'L)))',
    'L(',
    '(a L) b)',
    'L?!',
    'L>',
    'L"',
    'L\n.',
    'L}}',
    'L—',
    '—L—',
    'L؟',
    'L।',
    'L\u200b',
    'L·',
  ])('get parameters inside of the punctuation of %j', (text) => {
    for (const url of [
      'https://a.test/x',
      'https://a.test/x_(y)',
      'https://a.test/x?y=[1]',
      'https://a.test/(x)/{y}-',
    ])
      expect(addToTextLinks(text.replace('L', url), parameters, nothingKept)).toBe(
        text.replace('L', withParameters(url, parameters)),
      );
  });

  it('end at the closing bracket if they are in angle brackets', () => {
    for (const url of ['https://a.test/x.', 'https://a.test/x)', 'https://a.test/x*', 'https://a.test/x。y'])
      expect(addToTextLinks(`a <${url}> b`, parameters, nothingKept)).toBe(
        `a <${withParameters(url, parameters)}> b`,
      );
  });

  it('are found in linear time', () => {
    const text = `${'https://a.test/'.repeat(50_000)} ${'https:/'.repeat(50_000)} https://a${')'.repeat(100_000)}`;
    expect(addToTextLinks(text, parameters, nothingKept).length).toBeGreaterThan(text.length);
  });
});
