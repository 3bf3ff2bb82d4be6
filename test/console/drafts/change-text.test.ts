// What an editor says of changes by others names them; what the same user did was done in another window.
import { expect, it } from '@jest/globals';
import {
  conflictText,
  mergedText,
  replacedText,
  YOU,
} from '../../../console/src/editors/draft/change-text.ts';

const at = null;

it.each([
  ['Ann', 'Ann changed this meanwhile.'],
  [YOU, 'You changed this in another window meanwhile.'],
  [null, 'Someone else changed this meanwhile.'],
])('says that %s changed a draft', (by, text) => {
  expect(conflictText({ about: 'draft', by, at })).toBe(text);
});

it('says that the same user published', () => {
  expect(conflictText({ about: 'published', by: YOU, at })).toBe(
    'You published a change in another window meanwhile.',
  );
  expect(conflictText({ about: 'published', by: 'Ann', at })).toBe('Ann published a change meanwhile.');
  expect(conflictText({ about: 'published', by: null, at })).toBe('The published version changed meanwhile.');
});

it('says what the same user changed, where both changes are kept', () => {
  const merge = { by: YOU, at, mine: {}, theirs: {}, paths: [['subject']] };
  const form = { read: () => ({}) };
  expect(mergedText(form, { ...merge, about: 'draft' })).toBe(
    'You changed Subject in another window meanwhile. Both changes are kept.',
  );
  expect(mergedText(form, { ...merge, about: 'published', by: 'Ann' })).toBe(
    'Ann published Subject meanwhile. Your draft now includes this change.',
  );
});

it('says that what is shown was replaced', () => {
  const time = '2026-05-04T10:00:00Z';
  expect(replacedText({ by: YOU, at: time })).toMatch(/^You changed this in another window at .*\d/);
  expect(replacedText(null)).toBe('Someone else published or discarded the changes.');
});
