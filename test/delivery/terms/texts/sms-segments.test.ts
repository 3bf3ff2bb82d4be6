// The segments of a text are counted by the GSM alphabet or UCS-2, and never split a character.
import { describe, expect, it } from '@jest/globals';
import { countSegments } from '../../../../src/delivery/terms/texts/sms-segments.ts';

const gsm7 = (units: number, segments: number) => ({ encoding: 'gsm7', units, segments });
const ucs2 = (units: number, segments: number) => ({ encoding: 'ucs2', units, segments });

describe('segments of a text in the GSM alphabet', () => {
  it.each([
    [0, 1],
    [1, 1],
    [160, 1],
    [161, 2],
    [306, 2],
    [307, 3],
    [459, 3],
    [460, 4],
    [1_530, 10],
    [1_531, 11],
  ])('of %d characters number %d', (length, segments) => {
    expect(countSegments('a'.repeat(length))).toEqual(gsm7(length, segments));
  });

  it('cover the whole default alphabet and its extension', () => {
    const basic =
      '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà';
    expect(basic).toHaveLength(127);
    expect(countSegments(basic)).toEqual(gsm7(127, 1));
    expect(countSegments('^{}\\[~]|€\f')).toEqual(gsm7(20, 1));
  });

  it('count an extended character twice', () => {
    expect(countSegments('€'.repeat(80))).toEqual(gsm7(160, 1));
    expect(countSegments(`${'€'.repeat(80)}a`)).toEqual(gsm7(161, 2));
  });

  it('never separate an extended character from its escape', () => {
    expect(countSegments(`${'a'.repeat(152)}€${'a'.repeat(152)}`)).toEqual(gsm7(306, 3));
    expect(countSegments(`${'a'.repeat(151)}€${'a'.repeat(153)}`)).toEqual(gsm7(306, 2));
    // 76 pairs per segment: one septet of each segment is unused.
    expect(countSegments('€'.repeat(152))).toEqual(gsm7(304, 2));
    expect(countSegments('€'.repeat(153))).toEqual(gsm7(306, 3));
  });
});

describe('segments of other texts', () => {
  it.each(['ç', '`', 'Ł', '’', '“', '\t', '—', '…', '漢', 'е', '\u00a0', '😀', '\ud800'])(
    'are in UCS-2 if the text has a %j',
    (character) => {
      expect(countSegments(`a${character}`)).toEqual(ucs2(1 + character.length, 1));
    },
  );

  it.each([
    [70, 1],
    [71, 2],
    [134, 2],
    [135, 3],
    [201, 3],
    [202, 4],
  ])('of %d characters number %d', (length, segments) => {
    expect(countSegments('漢'.repeat(length))).toEqual(ucs2(length, segments));
  });

  it('never separate a surrogate pair', () => {
    expect(countSegments('😀'.repeat(35))).toEqual(ucs2(70, 1));
    expect(countSegments('😀'.repeat(66))).toEqual(ucs2(132, 2));
    expect(countSegments('😀'.repeat(67))).toEqual(ucs2(134, 3));
    expect(countSegments(`${'漢'.repeat(66)}😀${'漢'.repeat(66)}`)).toEqual(ucs2(134, 3));
    expect(countSegments(`${'漢'.repeat(65)}😀${'漢'.repeat(67)}`)).toEqual(ucs2(134, 2));
  });

  it('count an extended GSM character once', () => {
    expect(countSegments(`漢${'€'.repeat(69)}`)).toEqual(ucs2(70, 1));
  });
});
