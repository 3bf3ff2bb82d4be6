// The editor of an SMS names its length, its segments, and what they cost.
import { describe, expect, it } from '@jest/globals';
import { priceText, sizeHint, sizeText } from '../../console/src/editors/content/sms-size.ts';

const size = {
  encoding: 'gsm7' as const,
  units: 161,
  segments: 2,
  wide_characters: [] as string[],
  reserved_segments: 2,
  segment_price_cents: 7.5,
};

describe('the size of an SMS', () => {
  it('counts against one segment, and then says how many there are', () => {
    expect(sizeText({ ...size, units: 42, segments: 1 })).toBe('42 of 160 characters, 1 segment (GSM-7)');
    expect(sizeText(size)).toBe('161 characters in 2 segments of up to 153 (GSM-7)');
    expect(sizeText({ ...size, encoding: 'ucs2', units: 70, segments: 1 })).toContain('70 of 70');
  });

  it('costs all its segments', () => {
    expect(priceText(size, true)).toMatch(/^0\.15 \(2 segments at 0\.075\)$/);
    expect(priceText(size, false)).toMatch(/^At most 0\.15 .*, depending on the country$/);
    expect(priceText({ ...size, segment_price_cents: 0 }, true)).toBe('Nothing');
    expect(priceText({ ...size, segment_price_cents: null }, true)).toContain('Not sent');
  });

  it('warns of characters that need UCS-2, or else of values without a bound', () => {
    expect(sizeHint(size)).toBeNull();
    expect(sizeHint({ ...size, reserved_segments: 10 })).toContain('Up to 10 segments are reserved');
    expect(sizeHint({ ...size, reserved_segments: 10, wide_characters: ['“', '”'] })).toContain('“ ” cannot');
  });
});
