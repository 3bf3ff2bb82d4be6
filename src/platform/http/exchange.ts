import { randomUUID } from 'node:crypto';
import type Koa from 'koa';
import type { Principal } from '../auth/tenant.ts';
import type { HeaderList } from './rate-limiter.ts';
import type { RouteDefinition } from './route.ts';

/** One request on its way; filled in as more becomes known, for the answer's headers and the log. */
export interface Exchange {
  readonly ctx: Koa.Context;
  readonly requestId: string;
  /** Without the query string. */
  readonly path: string;
  /** The query string without its question mark. */
  readonly search: string;
  readonly startedAtMs: number;
  route: RouteDefinition | null;
  principal: Principal | null;
  /** `RateLimit-*`. */
  limitHeaders: HeaderList;
}

const SANE_REQUEST_ID = /^[\w.:+/=@-]{1,128}$/;

/** The request's id is the client's own where that is sane. */
export function beginExchange(ctx: Koa.Context): Exchange {
  const url = ctx.req.url ?? '/';
  const mark = url.indexOf('?');
  const given = ctx.req.headers['x-request-id'];
  return {
    ctx,
    requestId: typeof given === 'string' && SANE_REQUEST_ID.test(given) ? given : randomUUID(),
    path: mark === -1 ? url : url.slice(0, mark),
    search: mark === -1 ? '' : url.slice(mark + 1),
    startedAtMs: performance.now(),
    route: null,
    principal: null,
    limitHeaders: [],
  };
}

/** What a log line about this request says of it. */
export function exchangeFacts({ requestId, principal, route, ctx }: Exchange): Record<string, unknown> {
  return {
    request_id: requestId,
    account_id: principal?.tenant.accountId,
    method: ctx.method,
    route: route?.path,
  };
}
