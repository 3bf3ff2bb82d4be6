// The robots.txt reader applies groups, longest rules and wildcards as crawlers do, up to a fixed number of rules.
import { describe, expect, it } from '@jest/globals';
import { isAllowed, readRobots } from '../../../src/features/brands/scrape/page/robots.ts';

const allows = (lines: readonly string[], path: string) =>
  isAllowed(readRobots(lines.join('\n'), 'Carillon-Brand'), `https://example.com${path}`);

describe('robots.txt', () => {
  it.each<[what: string, lines: string[], paths: Record<string, boolean>]>([
    ['without rules', ['', '# nothing', 'User-agent: *', 'Disallow:'], { '/': true, '/a': true }],
    ['that forbids all', ['User-agent: *', 'Disallow: /'], { '/': false, '/a?b': false }],
    [
      'with rules for this robot reads no others',
      ['User-agent: *', 'Disallow: /', 'user-agent: CARILLON-brand/2.0 # us', 'Disallow: /a'],
      { '/': true, '/a': false, '/b': true },
    ],
    [
      'joins the groups of one robot',
      [
        'User-agent: Carillon-Brand',
        'Disallow: /a',
        'User-agent: other',
        'Disallow: /',
        'User-agent: Carillon-Brand',
        'Disallow: /b',
      ],
      { '/': true, '/a': false, '/b': false },
    ],
    [
      'with one group for several robots',
      ['User-agent: other', 'Sitemap: https://example.com/map', 'User-agent: *', '', 'Disallow: /a'],
      { '/a': false, '/b': true },
    ],
    [
      'follows the longest rule, and allows in doubt',
      ['User-agent: *', 'Disallow: /a', 'Allow: /a/b', 'Disallow: /a/b/c', 'Allow: /d', 'Disallow: /d'],
      { '/a': false, '/a/b': true, '/a/b/c': false, '/d': true },
    ],
    [
      'with wildcards',
      ['User-agent: *', 'Disallow: /*.php$', 'Disallow: /x*y*z', 'Disallow: /end$', 'Disallow: *?q='],
      {
        '/a.php': false,
        '/a.php5': true,
        '/.php.php': false,
        '/x1y2z3': false,
        '/xzy': true,
        '/end': false,
        '/ending': true,
        '/a?q=1': false,
        '/a?r=1': true,
      },
    ],
    [
      'compares percent-encodings',
      ['User-agent: *', 'Disallow: /ü', 'Disallow: /%e2%82%ac', 'Disallow: /a b'],
      { '/%c3%bc': false, '/%E2%82%AC': false, '/€': false, '/a%20b': false, '/u': true },
    ],
    ['with a byte order mark and old line ends', ['\ufeffUser-agent: *\rDisallow: /a\r\n'], { '/a': false }],
    ['without a robot before its rules', ['Disallow: /', 'User-agent: *', 'Allow: /'], { '/': true }],
  ])('%s', (_what, lines, paths) => {
    const found = Object.keys(paths).map((path) => [path, allows(lines, path)]);
    expect(Object.fromEntries(found)).toEqual(paths);
  });

  it('is read up to a thousand rules, and without lines of more than a thousand characters', () => {
    const many = ['User-agent: *', ...Array.from({ length: 2_000 }, (_, n) => `Disallow: /${n}`)];
    expect(readRobots(many.join('\n'), 'x')).toHaveLength(1_000);
    const long = ['User-agent: *', `Disallow: /${'a*'.repeat(1_000)}`, 'Disallow: /b'];
    expect(readRobots(long.join('\n'), 'x')).toEqual([{ allow: false, pattern: '/b' }]);
  });
});
