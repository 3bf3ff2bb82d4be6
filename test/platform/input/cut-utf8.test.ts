// A text is cut to a number of bytes of UTF-8, never inside a character.
import { describe, expect, it } from '@jest/globals';
import { cutUtf8 } from '../../../src/platform/input/cut-utf8.ts';

describe('cutUtf8', () => {
  it('returns a text that is short enough as it is', () => {
    expect(cutUtf8('', 0)).toBe('');
    expect(cutUtf8('né', 3)).toBe('né');
    expect(cutUtf8('a'.repeat(10), 10)).toBe('a'.repeat(10));
  });

  it('leaves out a character that does not fit as a whole', () => {
    expect(cutUtf8('aé', 2)).toBe('a');
    expect(cutUtf8('a€b', 3)).toBe('a');
    expect(cutUtf8('a😀b', 4)).toBe('a');
    expect(cutUtf8('a😀b', 5)).toBe('a😀');
    expect(cutUtf8('😀', 0)).toBe('');
  });
});
