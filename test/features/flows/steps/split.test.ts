// A split gives each branch its share of the contacts.
import { describe, expect, it } from '@jest/globals';
import type { Step } from '../../../../src/features/flows/steps/index.ts';
import { begin, email } from '../run/advancing.ts';

describe('a split', () => {
  const split = (...weights: number[]): Step => ({
    type: 'split',
    id: 1,
    branches: weights.map((weight, n) => ({ weight, steps: [email(n + 2)] })),
  });

  it.each([
    [0, '1 branch 1'],
    [29.99, '1 branch 1'],
    [30, '1 branch 3'],
    [99.999, '1 branch 3'],
  ])('gives each branch its share of the contacts: %d', async (percentile, outcome) => {
    const halt = await begin([split(30, 0, 70)], { percentile });
    expect(halt.context.path[0]).toBe(outcome);
  });
});
