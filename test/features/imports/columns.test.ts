// Each imported column gets a unique data key, in time linear in the number of columns, and stored columns stay readable.
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { type Column, ofThisVersion, readColumns } from '../../../src/features/imports/columns.ts';
import { MAX_COLUMNS } from '../../../src/platform/csv/scanner.ts';

const keysOf = (header: readonly string[]) =>
  readColumns(header, 'contacts', {}).map(({ use }) => (use && 'data' in use ? use.data : null));

describe('the keys of columns that become data', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('get the next free number if they are taken', () => {
    expect(keysOf(['plan', 'plan', 'plan_3', 'data.plan', 'plan_2', 'plan'])).toEqual([
      'plan',
      'plan_2',
      'plan_3',
      'plan_4',
      'plan_2_2',
      'plan_5',
    ]);
  });

  it('need a number of look-ups that grows linearly with the columns of one name', () => {
    const lookUps = jest.spyOn(Set.prototype, 'has');
    const keys = keysOf(Array<string>(MAX_COLUMNS).fill('plan'));
    const count = lookUps.mock.calls.length;
    jest.restoreAllMocks();
    expect(new Set(keys).size).toBe(MAX_COLUMNS);
    expect(count).toBeLessThan(10 * MAX_COLUMNS);
  });
});

describe('the column of addresses', () => {
  const usesOf = (header: readonly string[]) =>
    readColumns(header, 'contacts', {}).map(({ use }) =>
      use && 'field' in use ? use.field : Object.keys(use ?? {})[0],
    );

  it('is Subscriber in a file of MailerLite, and about subscriptions beside another one', () => {
    expect(usesOf(['Subscriber', 'Status'])).toEqual(['email', 'consent']);
    expect(usesOf(['Subscriber', 'Email'])).toEqual(['consent', 'email']);
  });

  it('is that of the first address in a file of Pipedrive', () => {
    const header = [
      'Person - Email - Work',
      'Person - Email - Home',
      'Person - Phone - Mobile',
      'Person - Marketing status',
    ];
    expect(usesOf(header)).toEqual(['email', 'data', 'phone', 'consent']);
  });
});

it('reads the layout of an import that an earlier version has begun', () => {
  const stored = [
    { name: 'Mail', use: { field: 'email' } },
    { name: 'In', use: { field: 'subscribed_email' } },
    { name: 'Plan', use: { data: 'Plan' } },
  ] as Column[];
  expect(ofThisVersion(stored)).toEqual([
    stored[0],
    { name: 'In', use: { consent: { channel: 'email', kind: 'positive' } } },
    stored[2],
  ]);
});
