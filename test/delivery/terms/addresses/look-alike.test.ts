// An address that could be taken for another one is not allowed for users.
import { describe, expect, it } from '@jest/globals';
import { parseEmailAddress } from '../../../../src/delivery/terms/addresses/email.ts';
import { lookAlikeProblem } from '../../../../src/delivery/terms/addresses/look-alike.ts';

describe('an address of a user', () => {
  it.each([
    ['the Kelvin sign', '\u212aelvin@example.com', 'U+212A'],
    ['a long s', 'je\u017fsica@example.com', 'U+017F'],
    ['a dotless i', 'kev\u0131n@example.com', 'U+0131'],
    ['a dotted capital I', '\u0130van@example.com', 'U+0130'],
    ['a fullwidth letter', '\uff41nn@example.com', 'U+FF41'],
    ['a ligature', 'al\ufb01e@example.com', 'U+FB01'],
    ['a zero-width non-joiner', 'ann\u200c@example.com', 'U+200C'],
    ['a zero-width joiner', 'an\u200dn@example.com', 'U+200D'],
    ['a variation selector', 'ann\ufe0f@example.com', 'U+FE0F'],
    ['a Hangul filler', 'ann\u3164@example.com', 'U+3164'],
    ['a zero-width space in the domain', 'ann@exam\u200bple.com', 'U+200B'],
    ['the Kelvin sign in the domain', 'ann@\u212ao.com', 'U+212A'],
    ['a fullwidth dot', 'ann@example\uff0ecom', 'U+FF0E'],
    ['an ideographic full stop', 'ann@例え\u3002jp', 'usual form'],
    ['a Cyrillic letter among Latin ones', 'p\u0430ul@example.com', 'several scripts'],
    ['a Greek letter in a Latin label', 'ann@g\u03bfod.com', 'several scripts'],
    ['the same label as an A-label', 'ann@xn--god-1xc.com', 'several scripts'],
    ['a decomposed letter', 'jose\u0301@example.com', 'NFC'],
  ])('does not contain %s', (_what, address, problem) => {
    expect(lookAlikeProblem(address)).toContain(problem);
  });

  it.each([
    "Ann.O'Neil+tag_1@Example.COM",
    ' ann@example.com ',
    'josé@example.com',
    'JOSÉ@MÜNCHEN.example',
    'иван@почта.рф',
    'иван@example.com',
    '用户@例え.jp',
    'παπάς@example.gr',
    'ann@xn--mnchen-3ya.example',
    'straße@example.com',
  ])('may be %s', (address) => {
    expect('error' in parseEmailAddress(address)).toBe(false);
    expect(lookAlikeProblem(address)).toBeNull();
  });
});
