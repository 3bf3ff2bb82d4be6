import type { Middleware } from '../context.ts';

/**
 * Asks clients to reconnect elsewhere once the process is stopping. Checks after the handler, so that a request
 * accepted before the stop closes its connection, too.
 */
export function drain(isDraining: () => boolean): Middleware {
  return async function drain(ctx, next) {
    await next();
    if (isDraining()) ctx.set('Connection', 'close');
  };
}
