import type { Middleware } from '../context.ts';
import type { RateLimiter } from '../rate-limiter.ts';

/**
 * Counts the request against the caller's limit and sets the `RateLimit-*` headers.
 * @param defaultPerSecond for callers without their own limit; 0 means no limit
 * @throws AppError `rate_limited`
 */
export function rateLimit(limiter: RateLimiter, defaultPerSecond: number): Middleware {
  return function rateLimit(ctx, next) {
    const { principal } = ctx.state;
    if (!principal) throw new Error('rateLimit runs after authenticate');
    const headers = limiter.request(
      principal.rateLimitName,
      principal.rateLimitPerSecond ?? defaultPerSecond,
    );
    const goOn = (found: Record<string, string>) => {
      ctx.set(found);
      return next();
    };
    return headers instanceof Promise ? headers.then(goOn) : goOn(headers);
  };
}
