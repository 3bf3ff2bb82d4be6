/** The state of a bucket after a request, from which the `RateLimit-*` headers are made. */
export interface RateVerdict {
  allowed: boolean;
  /** Size of the bucket. */
  limit: number;
  remaining: number;
  /** Time until the bucket is full again. */
  resetSeconds: number;
  /** Time until the next request is allowed; 0 if this one was. */
  retryAfterSeconds: number;
}

/**
 * @param tokens that the bucket has left after the request
 * @param perSecond rate at which the bucket fills
 * @param burst size of the bucket
 * @param wanted number of tokens that the request takes
 */
export function verdictOf(
  tokens: number,
  allowed: boolean,
  perSecond: number,
  burst: number,
  wanted = 1,
): RateVerdict {
  return {
    allowed,
    limit: Math.floor(burst),
    remaining: allowed ? Math.floor(tokens) : 0,
    resetSeconds: Math.ceil((burst - tokens) / perSecond),
    retryAfterSeconds: allowed ? 0 : Math.max(1, Math.ceil((wanted - tokens) / perSecond)),
  };
}
