// The keyword reader finds a keyword only if it is the whole text, and never throws.
import { describe, expect, it } from '@jest/globals';
import { readKeyword } from '../../../src/features/sms/keywords.ts';
import { hostileTexts } from '../../support/hostile-texts.ts';

describe('readKeyword', () => {
  it.each([
    ['STOP', 'stop'],
    [' stop ', 'stop'],
    ['Stop!', 'stop'],
    ['"STOP ALL".', 'stop'],
    ['unsubscribe', 'stop'],
    ['Cancel', 'stop'],
    ['end', 'stop'],
    ['Quit', 'stop'],
    ['opt-out', 'stop'],
    ['ＳＴＯＰ', 'stop'],
    ['Start', 'start'],
    ['UN-STOP', 'start'],
    ['yes', 'start'],
    ['Help?', 'help'],
    ['info', 'help'],
  ])('reads %s', (text, keyword) => {
    expect(readKeyword(text, null)).toBe(keyword);
  });

  it.each(['', ' ', '…', 'please stop sending', 'stopp', 'do not stop', 'STOP'.repeat(50), '1'])(
    'reads no keyword in "%s"',
    (text) => {
      expect(readKeyword(text, null)).toBeNull();
    },
  );

  it("reads the brand's own words for STOP", () => {
    expect(readKeyword('Arrêt!', 'stopp, arrêt')).toBe('stop');
    expect(readKeyword('ARRÊT'.normalize('NFD'), 'stopp,arrêt')).toBe('stop');
    expect(readKeyword('', 'stopp,,')).toBeNull();
  });

  it('reads any text without throwing', () => {
    for (const make of Object.values(hostileTexts)) {
      for (const length of [1, 40, 5_000]) {
        expect(() => readKeyword(make(length), make(200))).not.toThrow();
      }
    }
  });
});
