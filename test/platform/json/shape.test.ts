// The JSON shape check names the bound that a text exceeds, and tolerates malformed text.
import { describe, expect, it } from '@jest/globals';
import { exceededBound, MAX_LEVELS, MAX_NAMES, MAX_VALUES } from '../../../src/platform/json/shape.ts';

const measure = (json: string) => exceededBound(Buffer.from(json));
/** An object whose values contain everything that has a meaning outside of texts. */
const object = (names: number) =>
  `{${Array.from({ length: names }, (_, index) => `"k${index}":"{,:[\\"\\\\"`).join()}}`;

describe('exceededBound', () => {
  it('accepts text that just meets each bound', () => {
    expect(measure(`[${object(MAX_NAMES)},${object(MAX_NAMES)}]`)).toBeNull();
    expect(measure(`[${'0,'.repeat(MAX_VALUES - 3)}0]`)).toBeNull();
    expect(measure('['.repeat(MAX_LEVELS) + ']'.repeat(MAX_LEVELS))).toBeNull();
    expect(measure(`"${'[{,:'.repeat(100_000)}"`)).toBeNull();
  });

  it('names the bound that the text exceeds', () => {
    expect(measure(`[[],${object(MAX_NAMES + 1)}]`)).toBe('names');
    expect(measure(`[${'0,'.repeat(MAX_VALUES)}0]`)).toBe('values');
    expect(measure(`[${'{},'.repeat(MAX_VALUES)}0]`)).toBe('values');
    expect(measure('['.repeat(MAX_LEVELS + 1))).toBe('levels');
    expect(measure('{"a":'.repeat(MAX_LEVELS + 1))).toBe('levels');
  });

  it('stops at the end of malformed text', () => {
    for (const json of ['', '"', '"\\', ']]]]', '}{', '["a', '\0']) expect(measure(json)).toBeNull();
  });
});
