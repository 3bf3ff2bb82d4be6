// A change of a contact's data says only what the user changed.
import { expect, it } from '@jest/globals';
import { patched, patchOfData } from '../../console/src/pages/contacts/data-patch.ts';

const before = { plan: 'pro', score: 1, old: true, address: { city: 'Rome', zip: '00184' } };

it('leaves out what the user did not change', () => {
  expect(patchOfData(before, { ...before, address: { zip: '00184', city: 'Rome' } })).toEqual({});
  const after = { plan: 'team', score: 1, address: before.address, seats: 5 };
  expect(patchOfData(before, after)).toEqual({ plan: 'team', old: null, seats: 5 });
});

it('has names that objects have anyway', () => {
  expect(patchOfData({}, { constructor: 'x' })).toEqual({ constructor: 'x' });
  expect(patchOfData({ toString: 1 }, {})).toEqual({ toString: null });
});

it('changes data that others have changed since', () => {
  const now = { plan: 'pro', score: 99, last_order: 'A7', old: true };
  expect(patched(now, { plan: 'team', old: null })).toEqual({ plan: 'team', score: 99, last_order: 'A7' });
});
