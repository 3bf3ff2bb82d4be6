// The parser accepts one email address with an optional display name, and rejects lists and header injection.
import { describe, expect, it } from '@jest/globals';
import { parseEmailAddress, type EmailAddress } from '../../../../src/delivery/terms/addresses/email.ts';

function parsed(text: string): EmailAddress {
  const result = parseEmailAddress(text);
  if ('error' in result) throw new Error(`${JSON.stringify(text)} ${result.error}`);
  return result;
}

function refusal(text: string): string | null {
  const result = parseEmailAddress(text);
  return 'error' in result ? result.error : null;
}

const localOf64 = 'l'.repeat(64);
const domainOf189 = `${'d'.repeat(63)}.${'e'.repeat(63)}.${'f'.repeat(57)}.org`;

describe('an email address', () => {
  it.each([
    ['a@b.c', 'a@b.c'],
    ['  spaces.around@example.org ', 'spaces.around@example.org'],
    ["o'neil+tag=1/x@example.org", "o'neil+tag=1/x@example.org"],
    ['!#$%&*?^_`{|}~-@example.org', '!#$%&*?^_`{|}~-@example.org'],
    ['Case.Kept@EXAMPLE.Org', 'Case.Kept@example.org'],
    ['a@xn--mnchen-3ya.de', 'a@xn--mnchen-3ya.de'],
    ['a@XN--MNCHEN-3YA.de', 'a@xn--mnchen-3ya.de'],
    ['a@münchen.de', 'a@xn--mnchen-3ya.de'],
    ['a@faß.de', 'a@xn--fa-hia.de'],
    ['a@例え。jp', 'a@xn--r8jz45g.jp'],
    ['a@１２３.example', 'a@123.example'],
    ['a@123.com', 'a@123.com'],
    ['a@b-c--d.example', 'a@b-c--d.example'],
    ['用户@例子.广告', '用户@xn--fsqu00a.xn--4rr70v'],
    ['josé@example.org', 'josé@example.org'],
    ['👩‍💻@example.org', '👩‍💻@example.org'],
    ['نامه\u200cها@example.org', 'نامه\u200cها@example.org'],
    ['<a@b.c>', 'a@b.c'],
    ['"with space"@example.org', '"with space"@example.org'],
    ['"a@b"@example.org', '"a@b"@example.org'],
    ['"a,b"@example.org', '"a,b"@example.org'],
    ['"<x>"@example.org', '"<x>"@example.org'],
    ['"..dots."@example.org', '"..dots."@example.org'],
    [String.raw`"q\"u\\o"@example.org`, String.raw`"q\"u\\o"@example.org`],
    ['"needless"@example.org', 'needless@example.org'],
    [String.raw`"ne\edless"@example.org`, 'needless@example.org'],
    [`${localOf64}@${domainOf189}`, `${localOf64}@${domainOf189}`],
    [`a@${'x'.repeat(63)}.org`, `a@${'x'.repeat(63)}.org`],
  ])('%s is %s', (text, address) => {
    const result = parsed(text);
    expect(result.address).toBe(address);
    expect(`${result.local}@${result.domain}`).toBe(address);
    expect(result.name).toBeNull();
    expect(result.smtpUtf8).toBe(/[^\x00-\x7f]/.test(result.local));
  });

  it.each([
    ['Jane Doe <jane@example.org>', 'Jane Doe'],
    ['"Doe, Jane" <jane@example.org>', 'Doe, Jane'],
    [String.raw`"Jane \"J\" \\Doe" <jane@example.org>`, String.raw`Jane "J" \Doe`],
    ['Jane "J" Doe<jane@example.org>', 'Jane J Doe'],
    ['"Acme <Support>" <jane@example.org>', 'Acme <Support>'],
    ['"a; b" <jane@example.org>', 'a; b'],
    ['Acme: Support (EU) <jane@example.org>', 'Acme: Support (EU)'],
    ['jane@example.org <jane@example.org>', 'jane@example.org'],
    ['Zoë 👩‍👩‍👧 מאיה <jane@example.org>', 'Zoë 👩‍👩‍👧 מאיה'],
    ['=?utf-8?Q?J=C3=B6rg?= <jane@example.org>', '=?utf-8?Q?J=C3=B6rg?='],
    ['"" <jane@example.org>', null],
    ['  <jane@example.org>', null],
    [`${'n'.repeat(256)} <jane@example.org>`, 'n'.repeat(256)],
  ])('%s has the display name %s', (text, name) => {
    expect(parsed(text)).toMatchObject({ name, address: 'jane@example.org' });
  });

  it.each([
    '',
    '   ',
    'a',
    '@b.c',
    'a.b.c',
    'a@b@c.d',
    'a b@c.d',
    '.a@b.c',
    'a.@b.c',
    'a..b@c.d',
    'a(comment)@b.c',
    'a"b"@c.d',
    '"a"b@c.d',
    '""@b.c',
    'Name a@b.c',
    'Name <a@b.c',
    'Name a@b.c>',
    'Name <a@b.c> tail',
    'Name <<a@b.c>>',
    'Name <a@b.c> <d@e.f>',
    '>a@b.c<',
    '<>',
    'Name <>',
    '<@route.example:a@b.c>',
    'mailto:a@b.c@',
    'a\u00a0b@c.d',
    'a\u200bb@c.d',
    'a\u202eb@c.d',
    '"a\u200bb"@c.d',
    'a@b＠c.d\u200b@',
  ])('is not %j', (text) => {
    expect(refusal(text)).toBe('is not an email address');
  });

  it.each(['a@b.c, d@e.f', 'a@b.c;d@e.f', 'A <a@b.c>, B <d@e.f>', 'Doe, Jane <a@b.c>', 'group: a@b.c;'])(
    'is not a list: %j',
    (text) => {
      expect(refusal(text)).toBe('must be one address, not several');
    },
  );

  it.each([
    'a@b.c\r\nBcc: d@e.f',
    'a@b.c\n',
    'Na\rme <a@b.c>',
    '"Na\nme" <a@b.c>',
    '"a\r\nb"@c.d',
    'a\0@b.c',
    'a\t@b.c',
    'a\x7f@b.c',
    'a@b\u0085.c',
    'Na\u2028me <a@b.c>',
    'Na\ud800me <a@b.c>',
    '\udc00@b.c',
  ])('must not contain a control character: %j', (text) => {
    expect(refusal(text)).toBe('must not contain line breaks or control characters');
  });

  it.each([
    ['a@localhost', 'has a domain without a dot'],
    ['a@münchen', 'has a domain without a dot'],
    ['a@', 'has an invalid domain'],
    ['a@b.c (comment)', 'has an invalid domain'],
    ['a@b.c.', 'has an invalid domain'],
    ['a@b..c', 'has an invalid domain'],
    ['a@.b.c', 'has an invalid domain'],
    ['a@-b.c', 'has an invalid domain'],
    ['a@b-.c', 'has an invalid domain'],
    ['a@b_c.d', 'has an invalid domain'],
    ['a@b_c.dé', 'has an invalid domain'],
    ['a@b c.d', 'has an invalid domain'],
    ['a@b%2ec.dé', 'has an invalid domain'],
    ['a@b.c/é', 'has an invalid domain'],
    ['a@b.c:25', 'has an invalid domain'],
    ['a@xn--a.de', 'has an invalid domain'],
    ['a@mail.xn--zzzzzz99999.de', 'has an invalid domain'],
    ['a@é\u200d.de', 'has an invalid domain'],
    [`a@${'x'.repeat(64)}.org`, 'has an invalid domain'],
    ['a@[192.0.2.1]', 'must have a domain name after the @, not an IP address'],
    ['a@[IPv6:2001:db8::1]', 'must have a domain name after the @, not an IP address'],
    ['a@192.0.2.1', 'must have a domain name after the @, not an IP address'],
    ['a@１２７.1', 'must have a domain name after the @, not an IP address'],
    [`${localOf64}l@example.org`, 'has more than 64 octets before the @'],
    [`${'é'.repeat(33)}@example.org`, 'has more than 64 octets before the @'],
    [`${localOf64}@${domainOf189.replace('.org', 'f.org')}`, 'is longer than 254 octets'],
    [`${'n'.repeat(257)} <a@b.c>`, 'has a display name longer than 256 characters'],
    ['"open <a@b.c>', 'has an unclosed quotation mark'],
    [`a@${'b.'.repeat(600)}c`, 'is longer than 1000 characters'],
  ])('%s %s', (text, error) => {
    expect(refusal(text)).toBe(error);
  });
});

describe('the key of an address', () => {
  it.each([
    ['John.Doe@Example.ORG', 'john.doe@example.org'],
    ['"john.doe"@example.org', 'john.doe@example.org'],
    ['"John Doe"@example.org', '"john doe"@example.org'],
    ['J <a@MÜNCHEN.de>', 'a@xn--mnchen-3ya.de'],
    ['JOSE\u0301@example.org', 'jos\u00e9@example.org'],
    ['JOSÉ@example.org', 'jos\u00e9@example.org'],
  ])('of %s is %s', (text, key) => {
    expect(parsed(text).key).toBe(key);
  });

  it('differs for addresses that differ in more than case, Unicode form and quotes', () => {
    expect(parsed('a.b@example.org').key).not.toBe(parsed('ab@example.org').key);
    expect(parsed('a+b@example.org').key).not.toBe(parsed('a@example.org').key);
  });
});

it('takes less than 2 ms of processor time for any address', () => {
  const hostile = [
    `${'"\\'.repeat(499)}@`,
    `${'a.'.repeat(490)}@b.c`,
    `"${'\\"'.repeat(490)}`,
    `${'<'.repeat(990)}`,
    ' '.repeat(990),
    `"${' '.repeat(900)}"@x`,
  ];
  const before = process.cpuUsage();
  for (let round = 0; round < 100; round += 1) hostile.forEach((text) => parseEmailAddress(text));
  expect(process.cpuUsage(before).user).toBeLessThan(600 * 2_000);
});
