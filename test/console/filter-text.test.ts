// The console says in words what the filters of a segment mean.
import { expect, it } from '@jest/globals';
import { filtersText, filterText } from '../../console/src/ui/filter-text.ts';

const names = {
  lists: [
    { value: '7', label: 'Newsletter' },
    { value: '8', label: 'Club' },
  ],
  segments: [{ value: '3', label: 'Loyal' }],
  campaigns: [{ value: '42', label: 'Spring' }],
};
type Filter = Parameters<typeof filterText>[0];

const days = (count: number) => ({ count, unit: 'days' });

it.each<[Filter, string]>([
  [{ name: 'country_code', predicate: 'eq', value: 'DE' }, 'country is “DE”'],
  [{ name: 'data.age', predicate: 'between', value: [18, 30] }, 'data.age is between 18 and 30'],
  [{ name: 'email', predicate: 'blank' }, 'email is blank'],
  [{ name: 'email', predicate: 'blank', value: null }, 'email is blank'],
  [{ name: 'subscribed_email', predicate: 'true' }, 'subscribed email is true'],
  [{ name: 'created_at', predicate: 'gt', value: '2026-01-31' }, 'creation is after “2026-01-31”'],
  [
    { name: 'last_interacted_at', predicate: 'older_than', value: days(180) },
    'last interaction is longer ago than 180 days',
  ],
  [{ name: 'created_at', predicate: 'within_last', value: days(1) }, 'creation is within the last 1 day'],
  [{ name: 'list', predicate: 'eq', value: 7 }, 'is in the list Newsletter'],
  [{ name: 'list', predicate: 'in', value: [7, 8] }, 'is in one of the lists Newsletter, Club'],
  [{ name: 'list', predicate: 'not_in', value: [7, 9] }, 'is not in any of the lists Newsletter, 9'],
  [{ name: 'segment', predicate: 'not_eq', value: 3 }, 'is not in the segment Loyal'],
  [{ name: 'email_opened', predicate: 'did' }, 'email opened: at least once'],
  [
    { name: 'event.order_placed', predicate: 'did', value: { at_least: 2, within: days(90) } },
    'event order_placed: at least 2 times within the last 90 days',
  ],
  [{ name: 'email_clicked', predicate: 'did_not', value: {} }, 'email clicked: never'],
  [{ name: 'email_sent', predicate: 'did', value: { campaign_id: 42 } }, 'was sent the campaign Spring'],
  [
    { name: 'email_opened', predicate: 'did_not', value: { campaign_id: 9 } },
    'has not opened the campaign 9',
  ],
  [
    { name: 'email_clicked', predicate: 'did', value: { campaign_id: 42, within: days(2) } },
    'has clicked in the campaign Spring within the last 2 days',
  ],
  [{ name: 'event.visit', predicate: 'did_not', value: { at_least: 3 } }, 'event visit: fewer than 3 times'],
])('says of %j: %s', (filter, text) => {
  expect(filterText(filter, names)).toBe(text);
});

it('puts groups in brackets, and joins filters by and', () => {
  const paid = { name: 'data.plan', predicate: 'eq', value: 'pro' } as const;
  const group: Filter = {
    name: 'any',
    predicate: 'or',
    value: [paid, { name: 'all', predicate: 'and', value: [paid, { name: 'phone', predicate: 'present' }] }],
  };
  expect(filtersText([paid, group], names)).toBe(
    'data.plan is “pro” and (data.plan is “pro” or (data.plan is “pro” and phone is present))',
  );
  expect(filtersText([], names)).toBe('all contacts');
});
