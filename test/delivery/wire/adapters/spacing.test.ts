// Requests are spread evenly, and unused time is not saved up.
import { describe, expect, it } from '@jest/globals';
import { createSpacing } from '../../../../src/delivery/wire/adapters/spacing.ts';

describe('createSpacing', () => {
  it('spreads requests evenly, and does not save up unused time', async () => {
    let now = 1_000;
    const waited: number[] = [];
    const clock = { now: () => now, wait: (ms: number) => Promise.resolve(void waited.push(ms)) };
    const spacing = createSpacing(2, clock);
    await Promise.all([spacing(), spacing(), spacing()]);
    expect(waited).toEqual([500, 1_000]);
    now = 2_400;
    await spacing();
    expect(waited).toEqual([500, 1_000, 100]);
    now = 60_000;
    await Promise.all([spacing(), spacing()]);
    expect(waited).toEqual([500, 1_000, 100, 500]);
  });
});
