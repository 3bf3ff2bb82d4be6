import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves when the next request may be made. */
export type Spacing = () => Promise<void>;

/**
 * Spreads requests evenly, for services with a low rate limit. Concurrent requests queue up.
 * @param clock milliseconds of a clock that never goes back, and how to wait; for tests
 */
export function createSpacing(
  perSecond: number,
  clock: { now(): number; wait(ms: number): Promise<unknown> } = {
    now: () => performance.now(),
    wait: sleep,
  },
): Spacing {
  const intervalMs = 1_000 / perSecond;
  let next = 0;
  return async () => {
    const now = clock.now();
    const at = Math.max(now, next);
    next = at + intervalMs;
    if (at > now) await clock.wait(at - now);
  };
}
