// The size of a failed row includes everything that is stored of it.
import { expect, it } from '@jest/globals';
import { type ReportedRow, reportOf } from '../../../src/features/imports/failed-rows.ts';

const before = { bytes: 0, leftOut: 0 };
const row: ReportedRow = {
  number: 2,
  next: { offset: 10, row: 3, singleLineUntil: 0 },
  fields: ['bad'],
  email: null,
  phone: null,
  problem: { code: 'invalid_email', message: 'is wrong', column: null },
  warnings: null,
};
const bytesOf = (more: Partial<ReportedRow>) => reportOf(before, [{ ...row, ...more }], 1_000_000).bytes;
const text = 'ä'.repeat(100);

it.each([
  ['a value', { fields: ['bad', text] }, 200],
  ['the message', { problem: { ...row.problem, message: `is wrong${text}` } }, 200],
  ['the name of the column', { problem: { ...row.problem, column: text } }, 200],
  ['the email address, twice because of its index', { email: { address: text, key: text } }, 400],
  ['a cell that was left out', { warnings: [{ code: 'c', message: text, column: '' }] }, 200],
  ['the phone number, twice because of its index', { phone: '+'.padEnd(100, '1') }, 200],
] as [string, Partial<ReportedRow>, number][])('counts %s', (_name, more, bytes) => {
  const added = bytesOf(more) - bytesOf({});
  expect(added).toBeGreaterThanOrEqual(bytes);
  expect(added).toBeLessThan(bytes + 20);
});
