import { describe, expect, it } from '@jest/globals';
import { createClaimBuffer } from '../../../src/delivery/send/claim-buffer.ts';
import type { Claim } from '../../../src/delivery/send/claim.ts';

const claims = (count: number): Claim[] =>
  Array.from({ length: count }, (_each, n) => ({
    messageId: n,
    epoch: 1,
    accountId: 1,
    class: 0,
    bytes: 0,
    losses: 0,
  }));

/** A buffer with a clock that the test sets. */
function bufferAt() {
  const clock = { ms: 10_500 };
  return { clock, buffer: createClaimBuffer(16, () => clock.ms) };
}

/** Sizes of successive claims if everything that is claimed is handed over at once. */
function successiveClaims(count: number): number[] {
  const { buffer } = bufferAt();
  return Array.from({ length: count }, () => {
    const wanted = buffer.wanted();
    buffer.handedOver(wanted);
    return wanted;
  });
}

describe('the size of a claim', () => {
  it('doubles with each claim that it hands over, up to a thousand', () => {
    expect(successiveClaims(7)).toEqual([100, 100, 200, 400, 800, 1_000, 1_000]);
  });

  it('is what the sender hands over in three seconds', () => {
    const { clock, buffer } = bufferAt();
    for (let second = 0; second < 20; second += 1) {
      clock.ms += 1_000;
      buffer.handedOver(70);
    }
    expect(buffer.wanted()).toBe(210);
  });

  it('is small for a sender that hands nothing over, even if it did before', () => {
    const { clock, buffer } = bufferAt();
    expect(buffer.wanted()).toBe(100);
    buffer.handedOver(5_000);
    clock.ms += 2_000;
    expect(buffer.wanted()).toBe(1_000);
    clock.ms += 1_000;
    expect(buffer.wanted()).toBe(100);
    buffer.handedOver(5_000);
    clock.ms += 3_600_000;
    expect(buffer.wanted()).toBe(100);
  });

  it('is zero until the buffer is half empty', async () => {
    const { buffer } = bufferAt();
    buffer.handedOver(400);
    buffer.add(claims(240));
    expect(buffer.wanted()).toBe(0);
    await buffer.take();
    expect(buffer.wanted()).toBe(400);
  });
});
