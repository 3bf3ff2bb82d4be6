// A run names the files over their limit, the slowest first, and a suite that is a third over its budget.
import { describe, expect, it } from '@jest/globals';
import { budgets, costLines } from './cost.ts';

const files = [
  { name: 'test/quick.test.ts', seconds: 9.9 },
  { name: 'test/slow.test.ts', seconds: 10.6 },
  { name: 'test/slower.test.ts', seconds: 30 },
];

describe('the cost of a run', () => {
  it('is not mentioned if every file and the suite are within their limits', () => {
    expect(costLines('test', budgets.test.suite, files.slice(0, 1))).toEqual([]);
  });

  it('names the files over the limit, the slowest first', () => {
    expect(costLines('test', 60, files)).toEqual([
      'npm run test: files over 10 s',
      '  test/slower.test.ts: 30 s',
      '  test/slow.test.ts: 11 s',
    ]);
  });

  it('has a limit of its own for the files of the system suite', () => {
    expect(costLines('test:system', 60, files)).toEqual([]);
  });

  it('names a suite that is over its budget by more than a third', () => {
    const third = (budgets.test.suite * 4) / 3;
    expect(costLines('test', third, [])).toEqual([]);
    expect(costLines('test', third + 1, [])).toEqual(['npm run test took 641 s; its budget is 480 s']);
  });
});
