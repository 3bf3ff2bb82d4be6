// A segment that is not created yet is kept as it was typed, and is not created before it selects what its user means.
import { expect, it } from '@jest/globals';
import { readKept, whyNotYet } from '../../console/src/pages/segments/new-segment.ts';
import { MemoryStorage } from './drafts/stage.ts';

const filter = { name: 'country_code', predicate: 'eq' as const, value: 'DE' };

it.each([
  ['nothing', null, { name: '', filters: [] }],
  ['no JSON', '{"name"', { name: '', filters: [] }],
  ['another form', '{"name":1}', { name: '', filters: [] }],
  ['a segment', JSON.stringify({ name: 'A', filters: [filter] }), { name: 'A', filters: [filter] }],
])('reads what was kept: %s', (_name, text, expected) => {
  const storage = new MemoryStorage();
  if (text !== null) storage.setItem('kept', text);
  expect(readKept('kept', storage)).toEqual(expected);
});

it.each([
  ['without filters', [], false, 'Add a filter first. Without one, all contacts would be in the segment.'],
  ['with an unfinished filter', [{ ...filter, name: '' }], false, 'Complete the filters first.'],
  ['with filters that the API refuses', [filter], true, 'Correct the filters first.'],
  ['with filters', [filter], false, null],
])('says why a segment is not created %s', (_name, filters, isRefused, expected) => {
  expect(whyNotYet(filters, isRefused)).toBe(expected);
});
