import { createDiscarder } from '../body.ts';
import type { Middleware } from '../context.ts';

/** Discards what the client still sends after the response, for example after a 413. */
export function unreadBody(): Middleware {
  const discardRest = createDiscarder();
  return async function unreadBody(ctx, next) {
    await next();
    if (!ctx.req.complete) discardRest(ctx.req);
  };
}
