import type { HttpContext, Middleware, RequestCount } from '../context.ts';
import { burstOf, type RateLimiter } from '../rate-limiter.ts';

function requestCount(
  limiter: RateLimiter,
  caller: string,
  perSecond: number,
  ctx: HttpContext,
): RequestCount {
  let further = 0;
  return {
    most: perSecond === 0 ? null : burstOf(perSecond),
    async countAs(requests) {
      if (requests <= 1) return;
      ctx.set(await limiter.request(caller, perSecond, requests - 1));
      further += requests - 1;
    },
    async giveBack() {
      const tokens = further;
      further = 0;
      if (tokens > 0 && perSecond > 0) await limiter.giveBack(caller, tokens);
    },
  };
}

/**
 * Counts the request against the caller's limit and sets the `RateLimit-*` headers.
 * @param defaultPerSecond for callers without their own limit; 0 means no limit
 * @throws AppError `rate_limited`
 */
export function rateLimit(limiter: RateLimiter, defaultPerSecond: number): Middleware {
  return function rateLimit(ctx, next) {
    const { principal, route } = ctx.state;
    if (!principal) throw new Error('rateLimit runs after authenticate');
    const { rateLimitName: caller, rateLimitPerSecond } = principal;
    const perSecond = rateLimitPerSecond ?? defaultPerSecond;
    if (route?.manyRequests) ctx.state.requests = requestCount(limiter, caller, perSecond, ctx);
    const headers = limiter.request(caller, perSecond);
    const goOn = (found: Record<string, string>) => {
      ctx.set(found);
      return next();
    };
    return headers instanceof Promise ? headers.then(goOn) : goOn(headers);
  };
}
