import { AppError } from '../../errors.ts';

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

/** The burst is this many seconds' worth. */
const BURST_SECONDS = 2;
const LOGINS_PER_MINUTE = 10;

/** Flat name and value pairs, as `writeHead` takes them. */
export type HeaderList = string[];

export interface RateLimiter {
  /**
   * Count one request.
   * @param caller an API key's or a user's own name
   * @param perSecond over the whole fleet; 0: no limit
   * @returns the `RateLimit-*` headers of the answer
   * @throws AppError rate_limited, with the same headers and `Retry-After`
   */
  request(caller: string, perSecond: number): HeaderList;
  /**
   * Count one attempt to log in, for the client's address and for the account it names.
   * @throws AppError rate_limited
   */
  login(address: string, account: string): void;
}

function refuse(verdict: RateVerdict): never {
  throw new AppError('rate_limited', `too many requests; try again in ${verdict.retryAfterSeconds} s`, {
    headers: {
      'RateLimit-Limit': String(verdict.limit),
      'RateLimit-Remaining': String(verdict.remaining),
      'RateLimit-Reset': String(verdict.resetSeconds),
      'Retry-After': String(verdict.retryAfterSeconds),
    },
  });
}

/**
 * Limits in this process's memory, each its share of the fleet's.
 * @param processes how many processes share a limit
 */
export function createRateLimiter(
  processes: () => number,
  buckets: TokenBuckets = createTokenBuckets(),
): RateLimiter {
  return {
    request(caller, perSecond) {
      if (perSecond === 0) return [];
      const share = perSecond / processes();
      const verdict = buckets.take(caller, share, share * BURST_SECONDS);
      if (!verdict.allowed) refuse(verdict);
      return [
        'RateLimit-Limit',
        String(verdict.limit),
        'RateLimit-Remaining',
        String(verdict.remaining),
        'RateLimit-Reset',
        String(verdict.resetSeconds),
      ];
    },
    login(address, account) {
      const burst = LOGINS_PER_MINUTE / processes();
      for (const caller of [`login from ${address}`, `login of ${account}`]) {
        const verdict = buckets.take(caller, burst / 60, burst);
        if (!verdict.allowed) refuse(verdict);
      }
    },
  };
}
