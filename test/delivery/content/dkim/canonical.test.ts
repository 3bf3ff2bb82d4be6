// DKIM canonicalizes header fields and bodies by the relaxed rules.
import { createHash } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { relaxedBodyHash, relaxedField } from '../../../../src/delivery/content/dkim/canonical.ts';

/** The first two are the examples of RFC 6376 §3.4.5. */
it.each([
  ['A: X', 'a:X'],
  ['B : Y\t\r\n\tZ  ', 'b:Y Z'],
  ['Subject:', 'subject:'],
  ['Subject: a:  b', 'subject:a: b'],
  ['Subject:\ta\tb\r\n ', 'subject:a b'],
  ['Subject: \r\n ', 'subject:'],
])('canonicalizes the field %j to %j', (field, relaxed) => {
  expect(relaxedField(field)).toBe(relaxed);
});

/** The first is the example of RFC 6376 §3.4.5. */
it.each([
  [' C \r\nD \t E\r\n\r\n\r\n', ' C\r\nD E\r\n'],
  ['', ''],
  ['\r\n\r\n', ''],
  [' \r\n\t\r\n', ''],
  ['a\tb \tc\t\r\n', 'a b c\r\n'],
  ['no line end', 'no line end\r\n'],
  ['no line end ', 'no line end\r\n'],
  ['a\r\n\r\nb\r\n', 'a\r\n\r\nb\r\n'],
])('hashes the body %j as %j', (body, relaxed) => {
  expect(relaxedBodyHash(Buffer.from(body))).toBe(createHash('sha256').update(relaxed).digest('base64'));
});
