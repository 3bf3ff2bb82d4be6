import { randomUUID } from 'node:crypto';
import type { Middleware } from '../context.ts';

/** Characters that need no escaping in logs and headers. */
const ACCEPTABLE = /^[\w.:+/=@-]{1,128}$/;

/**
 * Identifies each request in the response and the logs: by the client's `X-Request-Id` if it is acceptable, else by a
 * UUID.
 */
export function requestId(): Middleware {
  return function requestId(ctx, next) {
    const given = ctx.req.headers['x-request-id'];
    const id = typeof given === 'string' && ACCEPTABLE.test(given) ? given : randomUUID();
    ctx.state.requestId = id;
    ctx.set('X-Request-Id', id);
    return next();
  };
}
