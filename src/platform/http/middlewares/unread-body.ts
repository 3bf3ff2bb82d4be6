import { discardRest } from '../body.ts';
import type { Middleware } from '../context.ts';

/** Discards what the client still sends after its request was answered, after a 413 for example. */
export function unreadBody(): Middleware {
  return async function unreadBody(ctx, next) {
    await next();
    if (!ctx.req.complete) discardRest(ctx.req);
  };
}
