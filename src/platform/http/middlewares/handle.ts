import type { Middleware } from '../context.ts';
import { reply } from '../reply.ts';
import type { Handler } from '../route.ts';

/** Calls the route's handler with the validated input and replies with its result. */
export function handle(handler: Handler): Middleware {
  return async function handle(ctx) {
    const { input } = ctx.state;
    if (!input) throw new Error('handle runs after validate');
    reply(ctx, await handler(input));
  };
}
