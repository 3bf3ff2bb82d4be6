// A text is cut at a number of bytes, and never inside a character.
import { describe, expect, it } from '@jest/globals';
import { cutToBytes } from '../../../src/platform/input/cut-to-bytes.ts';

describe('cutToBytes', () => {
  it.each([
    ['', 4, ''],
    ['ring', 4, 'ring'],
    ['rings', 4, 'ring'],
    ['ab€', 5, 'ab€'],
    ['ab€', 4, 'ab'],
    ['ab🔔', 6, 'ab🔔'],
    ['ab🔔', 5, 'ab'],
    ['🔔', 0, ''],
  ])('cuts %j at %i bytes: %j', (text, maxBytes, cut) => {
    expect(cutToBytes(text, maxBytes)).toBe(cut);
  });
});
