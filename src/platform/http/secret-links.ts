import { AppError } from '../../errors.ts';
import { clientNetwork, createClientAddress } from '../auth/client-address.ts';
import type { HttpContext } from './context.ts';
import type { RateLimiter } from './rate-limiter.ts';

/**
 * Runs the work of a route with a secret in its path, and counts a secret that is not found against the client.
 * @throws the error of `work`; AppError `rate_limited`
 */
export type WithSecret = <T>(ctx: HttpContext, work: () => Promise<T>) => Promise<T>;

export function createWithSecret(
  { TRUSTED_PROXIES }: { TRUSTED_PROXIES: string[] },
  rateLimiter: RateLimiter,
): WithSecret {
  const clientAddress = createClientAddress(TRUSTED_PROXIES);
  return async (ctx, work) => {
    try {
      return await work();
    } catch (error) {
      if (error instanceof AppError && error.code === 'not_found') {
        rateLimiter.unknownSecret(clientNetwork(clientAddress(ctx.req)));
      }
      throw error;
    }
  };
}
