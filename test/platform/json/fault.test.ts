// A text that is not JSON is described by its first mistake and its place, and every text that JSON.parse takes has none.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { findJsonFault } from '../../../src/platform/json/fault.ts';

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

describe('the mistake in a text', () => {
  const nameMissing = 'a name in double quotes is missing';

  it.each([
    ['', 1, 1, 'the text ends, but a value is missing'],
    ['{"a": 1', 1, 8, 'the text ends, but "," or the end is missing'],
    ['{"to": "ada@example.com",\n "subject" "Hi"}', 2, 12, '"\\"" is unexpected; ":" is missing'],
    ['{\n  "a": 1,\n}', 3, 1, `"}" is unexpected; ${nameMissing}`],
    ['{a: 1}', 1, 2, `"a" is unexpected; ${nameMissing}`],
    ["{'a': 1}", 1, 2, `"'" is unexpected; ${nameMissing}`],
    ['[1, 2,]', 1, 7, '"]" is unexpected; a value is missing'],
    ['[1 2]', 1, 4, '"2" is unexpected; "," or the end is missing'],
    ['{"a": [1}', 1, 9, '"}" is unexpected; "," or the end is missing'],
    ['{"a": True}', 1, 7, '"T" is unexpected; a value is missing'],
    ['{"a": NaN}', 1, 7, '"N" is unexpected; a value is missing'],
    ['{"a": undefined}', 1, 7, '"u" is unexpected; a value is missing'],
    ['{"a": 01}', 1, 8, '"1" is unexpected; "," or the end is missing'],
    ['{"a": 1.}', 1, 8, '"." is unexpected; "," or the end is missing'],
    ['{"a": "b\nc"}', 1, 9, 'a text has a line break or another control character'],
    ['{"a": "\\x"}', 1, 8, 'a text has a backslash that begins no escape'],
    ['{"a":\r\n"b}', 2, 1, 'a text begins, but does not end'],
    ['{"a": 1} {"b": 2}', 1, 10, 'there is more text after the end'],
    ['{"a": 1 // one\n}', 1, 9, '"/" is unexpected; "," or the end is missing'],
    ['\ufeff{}', 1, 1, '"\ufeff" is unexpected; a value is missing'],
    ['{"é": “Hi”}', 1, 7, '"“" is unexpected; a value is missing'],
    ['name=Ada', 1, 1, '"n" is unexpected; a value is missing'],
  ])('in %j is found', (text, line, column, reason) => {
    expect(isJson(text)).toBe(false);
    expect(findJsonFault(text)).toMatchObject({ line, column, reason });
  });

  it('is found if and only if the text is not JSON', () => {
    const pieces = fc.constantFrom(
      ...[
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '"a"',
        '"',
        '\\u00e9',
        '\\',
        '1',
        '-',
        '0',
        '.5',
        'e+1',
        'true',
        'null',
        ' ',
        '\n',
      ],
    );
    const broken = fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join(''));
    const whole = fc.jsonValue().map((value) => JSON.stringify(value, null, 1));
    const cut = fc.tuple(whole, fc.nat()).map(([text, at]) => text.slice(0, at % (text.length + 1)));
    fc.assert(
      fc.property(fc.oneof(broken, whole, cut), (text) => (findJsonFault(text) === null) === isJson(text)),
      { numRuns: 5_000 },
    );
  });

  it('is found in a text of 10 MB that is one string', () => {
    expect(findJsonFault(`{"a": "${'x'.repeat(10_000_000)}}`)).toMatchObject({ line: 1, column: 7 });
  });
});
