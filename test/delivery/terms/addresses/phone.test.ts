// Only E.164 phone numbers that fit a numbering plan are accepted, with their country.
import { describe, expect, it } from '@jest/globals';
import { parseE164, parsePhone } from '../../../../src/delivery/terms/addresses/phone.ts';

describe('a phone number', () => {
  it.each([
    ['+14155550123', 'US'],
    ['+12423570000', 'BS'],
    ['+442071838750', 'GB'],
    ['+33612345678', 'FR'],
    ['+4915112345678', 'DE'],
    ['+77011234567', 'KZ'],
    ['+74951234567', 'RU'],
    ['+390612345678', 'IT'],
    ['+819012345678', 'JP'],
    ['+80012345678', null],
    ['+881612345678', null],
    // The provider refuses numbers in unassigned ranges.
    ['+15555550100', null],
  ])('%s is in %s', (e164, country) => {
    expect(parsePhone(e164)).toEqual({ e164, country });
    expect(parsePhone(` ${e164} `)).toEqual({ e164, country });
  });

  it.each([
    '',
    '4155550123',
    '14155550123',
    '0014155550123',
    '+1 415 555 0123',
    '+1-415-555-0123',
    '+1(415)5550123',
    '+0155550123',
    '+14155550123;ext=5',
    'tel:+14155550123',
    '+1415555012x',
    '+١٤١٥٥٥٥٠١٢٣',
    '＋14155550123',
    '+123456',
    '+1234567890123456',
    '+14155550123\r\n+14155550124',
  ])('%j is not E.164', (text) => {
    expect(parsePhone(text)).toEqual({ error: 'must be a phone number in E.164 form, such as +14155550123' });
  });

  it.each(['+1415555012', '+141555501234', '+999123456789', '+331234567', '+2101234567'])(
    '%s fits no numbering plan',
    (text) => {
      expect(parsePhone(text)).toEqual({ error: 'is not a possible phone number' });
    },
  );

  it('with a national prefix is refused, with a hint to the correct number', () => {
    expect(parsePhone('+4402071838750')).toEqual({
      error: 'is not in E.164 form; did you mean +442071838750',
    });
  });
});

it('has the same result for a number of the North American plan if its country is not needed', () => {
  const wrong = Array.from({ length: 5_000 }, (_, n) => {
    // Every area code, and the lengths around the right one.
    const digits = `${200 + (n % 800)}${String((n * 7_654_321) % 10_000_000).padStart(7, '0')}`;
    const text = `+1${n % 10 === 0 ? digits.slice(0, 9) : n % 11 === 0 ? `${digits}0` : digits}`;
    const [short, long] = [parseE164(text), parsePhone(text)];
    return ('error' in long ? 'error' in short : 'e164' in short && short.e164 === long.e164) ? [] : [text];
  });
  expect(wrong.flat()).toEqual([]);
});
