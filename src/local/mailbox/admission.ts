import { AppError } from '../../errors.ts';
import type { Middleware } from '../../platform/http/context.ts';
import { reply } from '../../platform/http/reply.ts';
import type { Gate } from './gate.ts';
import { plainText, seeOther } from './responses.ts';

/** Refuses requests for another host, and request targets that are not a path. */
export function requireLocalHost(gate: Gate): Middleware {
  return async function requireLocalHost(ctx, next) {
    if (!gate.hostAllowed(ctx.req.headers)) {
      reply(ctx, plainText(421, 'this mailbox is only for this machine'));
    } else if (!ctx.req.url?.startsWith('/')) {
      reply(ctx, plainText(400, 'the request target is not a path'));
    } else await next();
  };
}

/** Turns the token in the address of a page into a cookie, and redirects so that it leaves the address bar. */
export function admitByToken(gate: Gate): Middleware {
  return async function admitByToken(ctx, next) {
    const query = new URLSearchParams(ctx.querystring);
    const token = query.get('token');
    if (token === null || !gate.tokenMatches(token)) {
      await next();
      return;
    }
    query.delete('token');
    const rest = query.size > 0 ? `?${query.toString()}` : '';
    // The path belongs to a page of the mailbox, so this cannot redirect to another site.
    reply(ctx, seeOther(`${ctx.path}${rest}`, { 'Set-Cookie': gate.cookie() }));
  };
}

/** Lets only requests with the token or its cookie pass. @throws AppError `unauthorized` */
export function requireToken(gate: Gate): Middleware {
  return function requireToken(ctx, next) {
    if (gate.admitted(ctx.req.headers) !== null) return next();
    throw new AppError('unauthorized', 'the mailbox token is missing or wrong');
  };
}

/** Lets a change pass only with the bearer token or from a page of the mailbox. @throws AppError `forbidden` */
export function requireOwnPage(gate: Gate): Middleware {
  return function requireOwnPage(ctx, next) {
    const { headers } = ctx.req;
    if (gate.admitted(headers) === 'bearer' || gate.fromOwnPage(headers)) return next();
    throw new AppError('forbidden', 'only a page of the mailbox itself may do this');
  };
}
