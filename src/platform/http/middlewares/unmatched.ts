import { AppError } from '../../../errors.ts';
import type { HttpContext, Middleware } from '../context.ts';

/** The `Allow` header of the requested path; null if no route has this path. */
function allowedMethods({ matched = [] }: HttpContext): string | null {
  if (matched.length === 0) return null;
  const methods = matched.flatMap((layer) => layer.methods);
  return [...new Set([...methods, 'OPTIONS'])].sort().join(', ');
}

/**
 * Answers requests that no route handles: OPTIONS with the allowed methods, an unsupported method of an existing path
 * with 405, and everything else with 404. Replaces `router.allowedMethods()`, whose errors are not in our shape.
 */
export function unmatched(): Middleware {
  return function unmatched(ctx) {
    const allow = allowedMethods(ctx);
    if (allow === null) throw new AppError('not_found', 'there is nothing at this path');
    if (ctx.method === 'OPTIONS') {
      ctx.status = 204;
      ctx.set('Allow', allow);
      return;
    }
    throw new AppError('method_not_allowed', `${ctx.method} is not supported here; use ${allow}`, {
      headers: { Allow: allow },
    });
  };
}
