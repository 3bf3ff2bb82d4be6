// An address is found however people type it.
import { describe, expect, it } from '@jest/globals';
import examples from 'libphonenumber-js/examples.mobile.json';
import { getCountries, getExampleNumber } from 'libphonenumber-js/min';
import {
  emailKeys,
  emailParts,
  type PartPosition,
  phoneKeys,
  phonePattern,
} from '../../../../src/delivery/terms/addresses/search-keys.ts';

describe('phone numbers', () => {
  // National and international forms as the national numbering plans and ITU-T E.123 show them.
  const cases: [string, string][] = [
    ['+14155550123', '+14155550123'],
    ['+1 (415) 555-0123', '+14155550123'],
    ['+1.415.555.0123', '+14155550123'],
    ['tel:+1-415-555-0123', '+14155550123'],
    ['001 415 555 0123', '+14155550123'],
    ['(415) 555-0123', '+14155550123'],
    ['415-555-0123', '+14155550123'],
    ['1-415-555-0123', '+14155550123'],
    ['14155550123', '+14155550123'],
    ['+49 (0)30 123456', '+4930123456'],
    ['0049 30 123456', '+4930123456'],
    ['011 49 30 1234567', '+49301234567'],
    ['030 / 123456', '+4930123456'],
    ['4930123456', '+4930123456'],
    ['020 7946 0018', '+442079460018'],
    ['06 12 34 56 78', '+33612345678'],
    ['06 1 234 5678', '+3612345678'],
    ['8 (912) 345-67-89', '+79123456789'],
    ['06 698 12345', '+390669812345'],
    ['0412 345 678', '+61412345678'],
    ['090-1234-5678', '+819012345678'],
    ['４１５－５５５－０１２３', '+14155550123'],
    ['\u202a+1 415 555 0123\u202c', '+14155550123'],
  ];
  it.each(cases)('%s may be %s', (text, key) => {
    expect(phoneKeys(text)).toContain(key);
  });

  // Google's libphonenumber has an example of each country, and how it is written there.
  it.each(getCountries())('of %s are found in national and international form', (country) => {
    const example = getExampleNumber(country, examples);
    if (!example) throw new Error(`no example for ${country}`);
    const digits = example.number.slice(1);
    const forms = [example.number, digits, `00${digits}`, example.formatInternational(), example.getURI()];
    // Numbers of four digits are too short to be looked for in all countries.
    const national = [example.formatNational(), example.nationalNumber];
    if (example.nationalNumber.length > 4) forms.push(...national);
    for (const form of forms)
      expect([form, phoneKeys(form)]).toEqual([form, expect.arrayContaining([example.number])]);
  });

  it('is one number if it has its country code', () => {
    expect(phoneKeys('+49 30 123456')).toEqual(['+4930123456']);
    expect(phoneKeys('0049 30 123456')).toEqual(['+4930123456']);
  });

  it.each(['', 'Ada', '+', '12', '415-CALL-NOW', '+1 415', 'a@b.test', '1'.repeat(40)])(
    'says that %j is no number',
    (text) => {
      expect(phoneKeys(text)).toHaveProperty('error');
    },
  );

  const parts: [string, PartPosition, string, boolean][] = [
    ['+49', 'starts', '+4930123456', true],
    ['0049', 'starts', '+4930123456', true],
    ['49', 'starts', '+4930123456', true],
    ['030', 'starts', '+4930123456', true],
    ['(415)', 'starts', '+14155550123', true],
    ['0123', 'starts', '+14155550123', false],
    ['555-01', 'contains', '+14155550123', true],
    ['030 12', 'contains', '+4930123456', true],
    ['+4930', 'contains', '+4930123456', true],
    ['+30', 'contains', '+4930123456', false],
    ['555-0123', 'ends', '+14155550123', true],
    ['0123', 'ends', '+14155550123', true],
    ['030 123456', 'ends', '+4930123456', true],
    ['555', 'ends', '+14155550123', false],
  ];
  it.each(parts)('%s %s a number: %s %s', (text, place, phone, isPart) => {
    expect(new RegExp(phonePattern(text, place) ?? '^$').test(phone)).toBe(isPart);
  });

  it.each(['x', '-', '%', '^[+]', ''])('has no pattern for %j', (text) => {
    expect(phonePattern(text, 'contains')).toBeNull();
  });
});

describe('email addresses', () => {
  const cases: [string, string][] = [
    ['Ex.Y@b.test', 'ex.y@b.test'],
    [' ex.y@B.TEST ', 'ex.y@b.test'],
    ['Ada <ada@b.test>', 'ada@b.test'],
    ['ada@Bücher.test', 'ada@xn--bcher-kva.test'],
    ['ada@XN--BCHER-KVA.test', 'ada@xn--bcher-kva.test'],
    ['"ada"@b.test', 'ada@b.test'],
    ['JÖRG@b.test', 'jörg@b.test'],
    ['jo\u0308rg@b.test', 'jörg@b.test'],
  ];
  it.each(cases)('%s is %s', (text, key) => {
    expect(emailKeys(text)).toEqual([key]);
  });

  it.each([' ', '\u00a0', '\u3000\t'])('have no part in %j, which would be in all', (text) => {
    expect(emailParts(text)).toEqual([]);
  });

  const parts: [string, string][] = [
    ['@Bücher.test', '@xn--bcher-kva.test'],
    ['bücher', 'xn--bcher-kva'],
    ['jö', 'jö'],
    ['JÖ', 'jö'],
    ['@B.', '@b.'],
    ['.Test', '.test'],
    ['Ada@', 'ada@'],
  ];
  it.each(parts)('%s is the part %s', (text, part) => {
    expect(emailParts(text)).toContain(part);
  });
});
