// What a browser has kept of a form is read only if it has the right form, and for 30 days.
import { expect, it } from '@jest/globals';
import { readEntry } from '../../console/src/ui/kept-fields.ts';

const DAY_MS = 86_400_000;
const fields = { name: { values: ['New'], base: ['Old'] }, events: { values: [], base: ['sent'] } };
const textOf = (entry: unknown) => JSON.stringify(entry);

it('reads the fields of an entry for 30 days', () => {
  const entry = { fields, at: 1_000 };
  expect(readEntry(textOf(entry), 1_000 + 30 * DAY_MS)).toEqual(entry);
  expect(readEntry(textOf(entry), 1_001 + 30 * DAY_MS)).toBeNull();
});

it('leaves out what it cannot read', () => {
  const broken = { name: fields.name, other: 'text', more: { values: [1], base: [] } };
  expect(readEntry(textOf({ fields: broken, at: 1 }), 1)).toEqual({ fields: { name: fields.name }, at: 1 });
  for (const text of [
    null,
    '',
    '{',
    '[]',
    textOf({ fields }),
    textOf({ fields: {}, at: 1 }),
    textOf({ at: 1 }),
  ]) {
    expect([text, readEntry(text, 1)]).toEqual([text, null]);
  }
});
