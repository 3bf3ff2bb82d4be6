// The contact import recognizes an exported header, and ignores the columns that it cannot set.
import { expect, it } from '@jest/globals';
import { contactHeader } from '../../../src/features/exports/contacts.ts';
import { readColumns } from '../../../src/features/imports/columns.ts';

const used = (header: string[]) =>
  readColumns(header, 'contacts', {}).flatMap(({ use }) => {
    if (use === null) return [];
    if ('consent' in use) return [`${use.consent.kind} ${use.consent.channel}`];
    if ('field' in use) return [use.field];
    return ['data' in use ? `data.${use.data}` : 'other keys of data'];
  });

it('imports an exported file of contacts with its fields and data, and nothing else', () => {
  expect(used(contactHeader(['id', 'plan']))).toEqual([
    ...['email', 'phone', 'first_name', 'last_name', 'country_code', 'source'],
    ...['positive email', 'positive phone', 'data.id', 'data.plan', 'other keys of data'],
  ]);
});

it('imports such columns of other files as data', () => {
  expect(used(['id', 'email', 'created_at'])).toEqual(['data.id', 'email', 'data.created_at']);
});
