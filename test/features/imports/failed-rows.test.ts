// The size of a failed row includes everything that is stored of it.
import { expect, it } from '@jest/globals';
import { silent } from '../../../src/features/imports/consent/read-consent.ts';
import { reportOf } from '../../../src/features/imports/failed-rows.ts';
import type { ImportRecord } from '../../../src/features/imports/model.ts';
import type { FailedRow } from '../../../src/features/imports/rows.ts';

const record = { left_out_count: 0, error_bytes: 0 } as ImportRecord;
const row: FailedRow = {
  number: 2,
  next: { offset: 10, row: 3, singleLineUntil: 0 },
  fields: ['bad'],
  email: null,
  phone: null,
  consent: silent,
  problem: { code: 'invalid_email', message: 'is wrong', column: null },
};
const bytesOf = (more: Partial<FailedRow>) => reportOf(record, [{ ...row, ...more }], 1_000_000).bytes;
const text = 'ä'.repeat(100);

it.each([
  ['a value', { fields: ['bad', text] }, 200],
  ['the message', { problem: { ...row.problem, message: `is wrong${text}` } }, 200],
  ['the name of the column', { problem: { ...row.problem, column: text } }, 200],
  ['the email address, twice because of its index', { email: { address: text, key: text } }, 400],
  ['the phone number, twice because of its index', { phone: '+'.padEnd(100, '1') }, 200],
] as [string, Partial<FailedRow>, number][])('counts %s', (_name, more, bytes) => {
  const added = bytesOf(more) - bytesOf({});
  expect(added).toBeGreaterThanOrEqual(bytes);
  expect(added).toBeLessThan(bytes + 20);
});
