import { type RateVerdict, verdictOf } from './rate-verdict.ts';

interface Bucket {
  tokens: number;
  perSecond: number;
  burst: number;
  filledAtMs: number;
}

const SWEEP_MS = 60_000;

export interface TokenBuckets {
  /**
   * Takes tokens from the bucket of `key`: all that are wanted, or none.
   * @param perSecond rate at which the bucket fills
   * @param burst size of the bucket; values below 1 count as 1
   * @param tokens how many are wanted; 1 by default
   */
  take(key: string, perSecond: number, burst: number, tokens?: number): RateVerdict;
  /** Returns what {@link take} would return for one token, but takes nothing. */
  peek(key: string, perSecond: number, burst: number): RateVerdict;
  /** Puts back tokens that were taken, one by default. */
  giveBack(key: string, tokens?: number): void;
}

/** @returns what the bucket contains at that time */
function tokensAt({ tokens, perSecond, filledAtMs }: Bucket, burst: number, nowMs: number): number {
  return Math.min(burst, tokens + ((nowMs - filledAtMs) / 1000) * perSecond);
}

function refill(bucket: Bucket, perSecond: number, burst: number, nowMs: number): void {
  bucket.tokens = tokensAt(bucket, burst, nowMs);
  bucket.filledAtMs = nowMs;
  bucket.perSecond = perSecond;
  bucket.burst = burst;
}

/**
 * Token buckets in the memory of this process. A bucket that is full again is removed within about a minute.
 * @param nowMs a monotonic clock
 * @param maxBuckets maximum number of buckets; beyond it, the least recently used one is removed
 */
export function createTokenBuckets(
  nowMs: () => number = () => performance.now(),
  maxBuckets = Number.POSITIVE_INFINITY,
): TokenBuckets {
  const buckets = new Map<string, Bucket>();
  let sweptAtMs = nowMs();

  function sweep(now: number): void {
    sweptAtMs = now;
    for (const [key, bucket] of buckets) {
      const missing = bucket.burst - bucket.tokens;
      if (now - bucket.filledAtMs >= (missing / bucket.perSecond) * 1000) buckets.delete(key);
    }
  }

  return {
    take(key, perSecond, burstWanted, tokens = 1) {
      const now = nowMs();
      const burst = Math.max(1, burstWanted);
      if (now - sweptAtMs > SWEEP_MS) sweep(now);
      let bucket = buckets.get(key);
      if (!bucket) bucket = { tokens: burst, perSecond, burst, filledAtMs: now };
      else refill(bucket, perSecond, burst, now);
      // The first bucket of the map is the least recently used one.
      buckets.delete(key);
      buckets.set(key, bucket);
      if (buckets.size > maxBuckets) buckets.delete(buckets.keys().next().value ?? '');
      const allowed = bucket.tokens >= tokens;
      if (allowed) bucket.tokens -= tokens;
      return verdictOf(bucket.tokens, allowed, perSecond, burst, tokens);
    },
    peek(key, perSecond, burstWanted) {
      const burst = Math.max(1, burstWanted);
      const bucket = buckets.get(key);
      const tokens = bucket ? tokensAt(bucket, burst, nowMs()) : burst;
      return verdictOf(Math.max(0, tokens - 1), tokens >= 1, perSecond, burst);
    },
    giveBack(key, tokens = 1) {
      const bucket = buckets.get(key);
      if (bucket) bucket.tokens = Math.min(bucket.burst, bucket.tokens + tokens);
    },
  };
}
