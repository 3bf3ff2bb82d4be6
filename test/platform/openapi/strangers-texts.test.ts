// Texts of strangers are found by the marks of a response's schema, wherever they are in it.
import { expect, it } from '@jest/globals';
import { z } from 'zod';
import {
  byStrangers,
  mayHaveTextsOfStrangers,
  withoutTextsOfStrangers,
} from '../../../src/platform/openapi/strangers-texts.ts';

const text = byStrangers(z.string().nullable());
const of = (schema: z.ZodType, value: unknown) => withoutTextsOfStrangers(schema, value);

it.each<[string, z.ZodType, unknown, unknown]>([
  ['a field', z.object({ text, own: z.string() }), { text: 'a', own: 'b' }, { text: '[withheld]', own: 'b' }],
  ['a list', z.array(z.object({ text })), [{ text: 'a' }], [{ text: '[withheld]' }]],
  [
    'an optional object',
    z.object({ at: z.object({ text }).nullable().optional() }),
    { at: { text: 'a' } },
    { at: { text: '[withheld]' } },
  ],
  [
    'a variant',
    z.union([z.object({ n: z.int() }), z.object({ text })]),
    { text: 'a' },
    { text: '[withheld]' },
  ],
  ['a record', z.record(z.string(), text), { any: 'a' }, { any: '[withheld]' }],
  [
    'another schema with its fields',
    z.object({ text }).extend({ n: z.int() }),
    { n: 1, text: 'a' },
    { n: 1, text: '[withheld]' },
  ],
])('finds one in %s', (_where, schema, value, shown) => {
  expect(mayHaveTextsOfStrangers(schema)).toBe(true);
  expect(of(schema, value)).toEqual({ value: shown, texts: 1 });
});

it.each([null, '', 7])('has none in %j', (value) => {
  expect(of(z.object({ text }), { text: value })).toEqual({ value: { text: value }, texts: 0 });
});

it.each([
  ['550 5.1.1 no such user', '550 5.1.1 [withheld]'],
  ['550-5.7.1 first line', '550-5.7.1 [withheld]'],
  ['451 later', '451 [withheld]'],
  ['5501 is no code', '[withheld]'],
])('keeps the code of the reply %j', (value, shown) => {
  expect(of(text, value).value).toBe(shown);
});

it('withholds some fields of a record, at any depth', () => {
  const schema = byStrangers(z.record(z.string(), z.unknown()), { fields: ['body'] });
  const value = { status: 200, reason: 'done', body: { a: ['b', 1] }, inner: { body: 'c' } };
  expect(of(schema, value)).toEqual({
    value: { status: 200, reason: 'done', body: { a: ['[withheld]', 1] }, inner: { body: '[withheld]' } },
    texts: 2,
  });
});

it('decides by the object that has the field', () => {
  const when = (owner: unknown) => (owner as { kind: string }).kind === 'theirs';
  const schema = z.object({ kind: z.string(), note: byStrangers(z.string(), { when }) });
  expect(of(schema, { kind: 'own', note: 'a' }).texts).toBe(0);
  expect(of(schema, { kind: 'theirs', note: 'a' }).texts).toBe(1);
});

it('ends in a schema that contains itself', () => {
  const step = z.object({
    name: z.string(),
    get steps(): z.ZodType {
      return z.array(step);
    },
  });
  expect(mayHaveTextsOfStrangers(step)).toBe(false);
});
