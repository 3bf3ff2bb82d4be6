import { AppError } from '../errors.ts';
import { createTokenBuckets, type RateVerdict, type TokenBuckets } from './token-bucket.ts';

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
