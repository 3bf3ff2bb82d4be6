// Data in a form, as rows: every value comes back as it was, and a row that is not complete says why.
import { describe, expect, it } from '@jest/globals';
import {
  blankRows,
  faultOf,
  newRow,
  objectOf,
  retype,
  rowsOf,
  type Row,
} from '../../console/src/ui/data-rows.ts';

const row = (patch: Partial<Row>): Row => ({ ...newRow, name: 'a', ...patch });

describe('rows of data', () => {
  it('give back every value as it was', () => {
    const data = {
      text: 'x',
      number: 1.5,
      yes: true,
      no: false,
      day: '2026-02-28',
      time: '2026-02-28T10:00:00Z',
      'no day': '2026-02-31',
      nothing: null,
      list: [1, { a: 'b' }],
      object: { city: 'Köln' },
    };
    expect(objectOf(rowsOf(data))).toEqual(data);
    expect(rowsOf(data).map(({ type }) => type)).toEqual([
      'text',
      'number',
      'yes or no',
      'yes or no',
      'date',
      'text',
      'text',
      'null',
      'JSON',
      'JSON',
    ]);
  });

  it('keep names and types for another value', () => {
    const rows = blankRows({ plan: 'pro', seats: 3, since: '2026-02-28' });
    expect(rows.map(({ type }) => type)).toEqual(['text', 'number', 'date']);
    expect(objectOf(rows)).toEqual({ plan: '' });
  });

  it.each<[Partial<Row>, string | null]>([
    [{}, null],
    [{ name: '' }, null],
    [{ name: '', text: 'x' }, 'Give this value a name.'],
    [{ type: 'number', text: '1.' }, null],
    [{ type: 'number', text: '' }, 'This is not a number.'],
    [{ type: 'number', text: 'one' }, 'This is not a number.'],
    [{ type: 'date', text: '2026-13-01' }, 'Choose a date.'],
    [{ type: 'null' }, null],
  ])('of %j say: %s', (patch, fault) => {
    const one = row(patch);
    expect(faultOf(one, [one])).toBe(fault);
  });

  it('say that a name is given twice', () => {
    const rows = [row({}), row({}), row({ name: 'b' })];
    expect(rows.map((each) => faultOf(each, rows))).toEqual([
      'This name is given twice.',
      'This name is given twice.',
      null,
    ]);
  });

  it.each<[Partial<Row>, Row['type'], string]>([
    [{ text: '12' }, 'number', '12'],
    [{ text: 'twelve' }, 'number', ''],
    [{ text: 'x' }, 'JSON', '"x"'],
    [{ type: 'date', text: '2026-02-28' }, 'text', '2026-02-28'],
    [{ type: 'number', text: '12' }, 'date', ''],
  ])('of %j become %s with the text %s', (patch, type, text) => {
    expect(retype(row(patch), type)).toEqual({ name: 'a', type, text });
  });
});
