// Contents are equal if they are as JSON; what two versions share is not read for that.
import { hashKey } from '@tanstack/react-query';
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isSame } from '../../../console/src/editors/draft/same.ts';

const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(undefined, null, true, '', '1', 0, -0, 1, NaN, Infinity),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'constructor'), tie('value')),
  ),
}));

it('compares values as JSON, in which the order of names does not count', () => {
  fc.assert(
    fc.property(fc.array(value, { maxLength: 2 }), fc.array(value, { maxLength: 2 }), (one, other) => {
      expect(isSame(one, other)).toBe(hashKey(one) === hashKey(other));
      expect(isSame(one, structuredClone(one))).toBe(true);
    }),
    { numRuns: 500 },
  );
  const pairs: [unknown, unknown, boolean][] = [
    [{ a: 1, b: [{ c: 2, d: 3 }] }, { b: [{ d: 3, c: 2 }], a: 1 }, true],
    [{ a: undefined }, {}, true],
    [{}, { a: undefined }, true],
    [{ a: null }, {}, false],
    [undefined, null, false],
    [[], {}, false],
    [{ toString: undefined }, {}, true],
    [JSON.parse('{"__proto__":1}'), {}, false],
    [JSON.parse('{"__proto__":1}'), JSON.parse('{"__proto__":1}'), true],
  ];
  for (const [one, other, areSame] of pairs) {
    expect([isSame(one, other), isSame(other, one)]).toEqual([areSame, areSame]);
  }
});

it('does not look into what both have as the same object', () => {
  let reads = 0;
  const part = {
    get html() {
      reads += 1;
      return 'Text';
    },
  };
  const letter = { subject: 'New', sections: [part, { html: 'More' }] };
  expect(isSame(letter, { ...letter, subject: 'Newer' })).toBe(false);
  expect(isSame(letter, { ...letter, sections: [part, { html: 'More' }] })).toBe(true);
  expect(reads).toBe(0);
});
