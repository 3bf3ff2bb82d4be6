// The pace spreads requests evenly, and does not save up unused time.
import { describe, expect, it } from '@jest/globals';
import { createPace } from '../../../../src/delivery/wire/adapters/pace.ts';

describe('createPace', () => {
  it('spreads requests evenly, and does not save up unused time', async () => {
    let now = 1_000;
    const waited: number[] = [];
    const clock = { now: () => now, wait: (ms: number) => Promise.resolve(void waited.push(ms)) };
    const pace = createPace(2, clock);
    await Promise.all([pace(), pace(), pace()]);
    expect(waited).toEqual([500, 1_000]);
    now = 2_400;
    await pace();
    expect(waited).toEqual([500, 1_000, 100]);
    now = 60_000;
    await Promise.all([pace(), pace()]);
    expect(waited).toEqual([500, 1_000, 100, 500]);
  });
});
