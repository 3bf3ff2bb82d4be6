import type { Middleware } from '../context.ts';
import { withEtag } from '../etag.ts';
import { reply } from '../reply.ts';
import type { HandledRoute } from '../route.ts';

/** Calls the route's handler with the validated input and replies with its result. */
export function handle(route: HandledRoute): Middleware {
  return async function handle(ctx) {
    const { input } = ctx.state;
    if (!input) throw new Error('handle runs after validate');
    const result = await route.handler(input);
    reply(ctx, 'raw' in result ? result : withEtag(route, result));
  };
}
