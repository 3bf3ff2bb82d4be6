/** What a caller may still do; the figures of the `RateLimit-*` headers. */
export interface RateVerdict {
  allowed: boolean;
  /** Size of the bucket. */
  limit: number;
  remaining: number;
  /** Until the bucket is full again. */
  resetSeconds: number;
  /** Until one more is allowed; 0 where it was. */
  retryAfterSeconds: number;
}

interface Bucket {
  tokens: number;
  perSecond: number;
  burst: number;
  filledAtMs: number;
}

const SWEEP_MS = 60_000;

export interface TokenBuckets {
  /**
   * Take one token from the bucket of `key`.
   * @param perSecond how fast it fills
   * @param burst how much it holds; at least 1 is used
   */
  take(key: string, perSecond: number, burst: number): RateVerdict;
}

function refill(bucket: Bucket, perSecond: number, burst: number, nowMs: number): void {
  const gained = ((nowMs - bucket.filledAtMs) / 1000) * bucket.perSecond;
  bucket.tokens = Math.min(burst, bucket.tokens + gained);
  bucket.filledAtMs = nowMs;
  bucket.perSecond = perSecond;
  bucket.burst = burst;
}

/**
 * Token buckets in this process's memory. Full ones that nobody uses are forgotten within a minute or so.
 * @param nowMs a clock that only goes forward
 */
export function createTokenBuckets(nowMs: () => number = () => performance.now()): TokenBuckets {
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
    take(key, perSecond, atMost) {
      const now = nowMs();
      const burst = Math.max(1, atMost);
      if (now - sweptAtMs > SWEEP_MS) sweep(now);
      let bucket = buckets.get(key);
      if (!bucket) {
        bucket = { tokens: burst, perSecond, burst, filledAtMs: now };
        buckets.set(key, bucket);
      } else refill(bucket, perSecond, burst, now);
      const allowed = bucket.tokens >= 1;
      if (allowed) bucket.tokens -= 1;
      return {
        allowed,
        limit: Math.floor(burst),
        remaining: Math.floor(bucket.tokens),
        resetSeconds: Math.ceil((burst - bucket.tokens) / perSecond),
        retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil((1 - bucket.tokens) / perSecond)),
      };
    },
  };
}
