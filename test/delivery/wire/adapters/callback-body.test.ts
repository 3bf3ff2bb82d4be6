// The JSON of a callback is parsed only up to a maximum depth and number of values.
import { describe, expect, it } from '@jest/globals';
import { jsonOf } from '../../../../src/delivery/wire/adapters/callback-body.ts';

const MEGABYTE = 1_000_000;

describe('the JSON of a callback', () => {
  it('is parsed if it is a long list of reports', () => {
    const report = Object.fromEntries(Array.from({ length: 15 }, (_, n) => [`field${n}`, 'value']));
    const reports = Array.from({ length: 5_000 }, () => report);
    expect(jsonOf(JSON.stringify(reports))).toEqual(reports);
    expect(jsonOf(Buffer.from('{"event":"delivered"}'))).toEqual({ event: 'delivered' });
  });

  it.each([
    ['nested too deeply', '['.repeat(200) + ']'.repeat(200)],
    ['nested too deeply, and without an end', '['.repeat(MEGABYTE)],
    ['a list of too many values', `[${'{},'.repeat(MEGABYTE / 4)}{}]`],
    ['no JSON', 'delivered'],
  ])('is not parsed if it is %s', (_what, body) => {
    expect(jsonOf(body)).toBeUndefined();
  });
});
