// Header fields are encoded and folded within the line limits, without a split character.
import { describe, expect, it } from '@jest/globals';
import type { EmailAddress } from '../../../../src/delivery/terms/addresses/email.ts';
import { formatAddressField, formatTextField } from '../../../../src/delivery/content/mime/header-fields.ts';
import { address } from './wire.ts';

function named(name: string): EmailAddress {
  return { ...address('a@example.org'), name };
}

describe('a field of free text', () => {
  it.each([
    ['plain', 'Subject: plain'],
    ['', 'Subject: '],
    ['  spaces around  ', 'Subject: spaces around'],
    ['two  spaces', 'Subject: two  spaces'],
    ['a NUL\0', 'Subject: a NUL'],
    ['one Käsekuchen two', 'Subject: one =?UTF-8?Q?K=C3=A4sekuchen?= two'],
    ['a Größe b', 'Subject: a =?UTF-8?B?R3LDtsOfZQ==?= b'],
    ['für gute Freunde im Café now', 'Subject: =?UTF-8?Q?f=C3=BCr_gute_Freunde_im_Caf=C3=A9?= now'],
    ['漢字', 'Subject: =?UTF-8?B?5ryi5a2X?='],
    ['a =?x?= b', 'Subject: a =?UTF-8?B?PT94Pz0=?= b'],
    ['bell\x07', 'Subject: =?UTF-8?Q?bell=07?='],
    ['half-a-surrogate\ud83d', 'Subject: =?UTF-8?Q?half-a-surrogate=EF=BF=BD?='],
    ['Straße  zwei', 'Subject: =?UTF-8?Q?Stra=C3=9Fe__zwei?='],
    [
      'A subject of more than seventy-eight characters is folded where it has a space to be folded at',
      'Subject: A subject of more than seventy-eight characters is folded where it\r\n has a space to be folded at',
    ],
    [`${'w'.repeat(200)} ${'v'.repeat(200)}`, `Subject: ${'w'.repeat(200)}\r\n ${'v'.repeat(200)}`],
  ])('%j', (text, field) => {
    expect(formatTextField('Subject', text)).toBe(field);
  });

  it('does not split an emoji made of joined characters', () => {
    const family = '👩‍👩‍👧‍👦';
    const words = formatTextField('Subject', family.repeat(12)).slice('Subject: '.length).split('\r\n ');
    expect(words.length).toBeGreaterThan(3);
    for (const word of words) {
      const text = Buffer.from(word.slice('=?UTF-8?B?'.length, -2), 'base64').toString();
      expect(text.replaceAll(family, '')).toBe('');
    }
  });

  it('starts a new line if the first character is too long for the line of the name', () => {
    const family = '👩‍👩‍👧‍👦';
    const lines = formatTextField(`X-${'n'.repeat(36)}`, `${family} and friends`).split('\r\n');
    expect(lines[0]).toBe(`X-${'n'.repeat(36)}:`);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(76);
  });

  it('splits a text without spaces before the limit of 998', () => {
    const lines = formatTextField('X-Long', 'x'.repeat(5_000)).split('\r\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(78);
    const text = lines.map((line) => /=\?UTF-8\?Q\?(x+)\?=$/.exec(line)?.[1] ?? '').join('');
    expect(text).toBe('x'.repeat(5_000));
  });

  it('does not change a long address in angle brackets', () => {
    const value = `<https://example.com/${'u'.repeat(300)}>, <mailto:u@example.com>`;
    expect(formatTextField('List-Unsubscribe', value).replaceAll('\r\n', '')).toBe(
      `List-Unsubscribe: ${value}`,
    );
  });
});

describe('a field with an address', () => {
  it.each([
    ['', 'To: a@example.org'],
    ['Jane Doe', 'To: Jane Doe <a@example.org>'],
    ['Doe, Jane', 'To: "Doe, Jane" <a@example.org>'],
    ['Jane  Doe', 'To: "Jane  Doe" <a@example.org>'],
    ['Jane "J" \\Doe', String.raw`To: "Jane \"J\" \\Doe" <a@example.org>`],
    ['b@example.org', 'To: "b@example.org" <a@example.org>'],
    ['Jörg Schneider', 'To: =?UTF-8?Q?J=C3=B6rg_Schneider?= <a@example.org>'],
    ['=?unclosed', 'To: =?UTF-8?Q?=3D=3Funclosed?= <a@example.org>'],
    ['Müller, Hannelore', 'To: =?UTF-8?Q?M=C3=BCller=2C_Hannelore?= <a@example.org>'],
    ['(é)', 'To: =?UTF-8?B?KMOpKQ==?= <a@example.org>'],
  ])('of the name %j', (name, field) => {
    expect(formatAddressField('To', named(name))).toBe(field);
  });

  it('is folded between the words of a long name, and before the address', () => {
    expect(formatAddressField('To', named(`${'Word '.repeat(14)}End`)).split('\r\n')).toEqual([
      `To: ${'Word '.repeat(14)}End`,
      ' <a@example.org>',
    ]);
    const specials = formatAddressField('To', named(`${'W. '.repeat(60)}E`)).split('\r\n');
    expect(Math.max(...specials.map((line) => line.length))).toBeLessThanOrEqual(78);
  });
});
