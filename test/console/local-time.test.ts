// Times that are typed survive, and one that has passed is known as such.
import { describe, expect, it } from '@jest/globals';
import { isPast, localText, timeOf } from '../../console/src/ui/local-time.ts';

describe('a time of an input', () => {
  it.each(['0002-01-01T10:00', '0202-12-31T23:59', '2027-06-05T04:03', '12027-06-05T04:03'])(
    'is shown as it was typed: %s',
    (text) => expect(localText(timeOf(text))).toBe(text),
  );

  it('is none while its input is empty', () => {
    expect(timeOf('')).toBeNull();
    expect(localText(null)).toBe('');
  });

  it.each([
    ['2027-01-01T00:00:00.000Z', true],
    ['2027-01-01T00:00:01.000Z', true],
    ['2027-01-01T00:00:02.000Z', false],
    [null, false],
  ])('%s has passed at one second after midnight: %s', (at, expected) => {
    expect(isPast(at, Date.UTC(2027, 0, 1, 0, 0, 1))).toBe(expected);
  });
});
