import type { Claim } from './claim.ts';

/** The maximum number of messages given to a provider under one intent. */
const BATCH_SIZE = 50;
const MAX_AHEAD = 1_000;
/** A sender that has handed nothing over lately may be slow, but still claims this many. */
const MIN_AHEAD = 100;
/** The claims of a buffer are the work of about this many seconds. */
const AHEAD_SECONDS = 3;

/** The claims of a provider channel that wait for a worker. */
export interface ClaimBuffer {
  /**
   * How many more to claim: 0 until the buffer is half empty, and then no more than was handed over in the last seconds.
   * A slow sender leaves to others what it cannot hand over soon; the claims of a quick one double each time.
   */
  wanted(): number;
  add(claims: Claim[]): void;
  /** Counts messages that the workers are done with, whatever the outcome. */
  handedOver(count: number): void;
  /** @returns a batch of at most 50 claims, fewer if several workers wait; null once the buffer is closed */
  take(): Promise<Claim[] | null>;
  /** Takes out all claims. */
  drain(): Claim[];
  close(): void;
}

/** Counts over the last {@link AHEAD_SECONDS}, including the present one. */
function createRecentCount(now: () => number) {
  const counts = Array.from({ length: AHEAD_SECONDS }, () => 0);
  let second = Math.floor(now() / 1_000);
  const forget = () => {
    const present = Math.floor(now() / 1_000);
    const passed = Math.min(present - second, AHEAD_SECONDS);
    for (let n = 0; n < passed; n++) counts[(present - n) % AHEAD_SECONDS] = 0;
    second = present;
  };
  return {
    add(count: number) {
      forget();
      const index = second % AHEAD_SECONDS;
      counts[index] = (counts[index] ?? 0) + count;
    },
    total() {
      forget();
      return counts.reduce((sum, count) => sum + count, 0);
    },
  };
}

/**
 * @param workers how many take batches from it
 * @param now milliseconds of a monotonic clock
 */
export function createClaimBuffer(workers: number, now: () => number = () => performance.now()): ClaimBuffer {
  const recent = createRecentCount(now);
  let claims: Claim[] = [];
  const waiting: ((batch: Claim[] | null) => void)[] = [];
  let closed = false;

  /** An equal share for each of `takers`. */
  const cutBatch = (takers: number): Claim[] =>
    claims.splice(0, Math.min(BATCH_SIZE, Math.ceil(claims.length / takers)));
  return {
    wanted() {
      const ahead = Math.min(MAX_AHEAD, Math.max(MIN_AHEAD, recent.total()));
      return claims.length * 2 < ahead ? ahead : 0;
    },
    handedOver: (count) => recent.add(count),
    add(more) {
      claims = claims.length === 0 ? more : claims.concat(more);
      while (waiting.length > 0 && claims.length > 0) {
        const batch = cutBatch(waiting.length);
        waiting.shift()?.(batch);
      }
    },
    async take() {
      if (closed) return null;
      if (claims.length > 0) return cutBatch(Math.max(1, Math.min(waiting.length + 1, workers)));
      return new Promise((resolve) => waiting.push(resolve));
    },
    drain() {
      return claims.splice(0);
    },
    close() {
      closed = true;
      for (const resolve of waiting.splice(0)) resolve(null);
    },
  };
}
