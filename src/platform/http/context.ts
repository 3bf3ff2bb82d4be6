import type Koa from 'koa';
import type { Principal } from '../auth/tenant.ts';
import type { RouteInput } from './input.ts';
import type { RouteDefinition } from './route.ts';

/** Counts a call as several requests against its caller's rate limit, which it was counted against once. */
export interface RequestCount {
  /** As how many it may count; null: its caller has no limit. */
  most: number | null;
  /**
   * Counts the call as `requests` in all, and sets the `RateLimit-*` headers.
   * @throws AppError `rate_limited`; then it counts as one
   */
  countAs(requests: number): Promise<void>;
  /** Counts it as one again. */
  giveBack(): Promise<void>;
}

/** What the middlewares know about a request, in `ctx.state`. */
export interface RequestState {
  /** Set by `requestId`, the first middleware. */
  requestId: string;
  /** Set by the router; missing if no route matches. */
  route?: RouteDefinition;
  /** Set by `authenticate`; missing in routes with `auth: 'none'`. */
  principal?: Principal;
  /** Set by `rateLimit` in routes with `manyRequests`. */
  requests?: RequestCount;
  /** Set by `validate`. */
  input?: RouteInput;
  /** Set by `auditChanges`: whether the audit log has an entry for the request. */
  isAudited?: boolean;
  /** Set by `reply`: the id of the resource in the response. */
  resourceId?: string;
}

interface RouterFields {
  /** Set by @koa/router: the decoded path parameters. Missing if the path has none. */
  params?: Record<string, string>;
  /** Set by @koa/router: every route whose path matches, with any method. */
  matched?: { methods: string[] }[];
}

export type HttpContext = Koa.ParameterizedContext<RequestState, RouterFields>;
export type Middleware = Koa.Middleware<RequestState, RouterFields>;
export type HttpApp = Koa<RequestState, RouterFields>;

/** The fields that identify a request in a log line. */
export function requestFields({ method, state }: HttpContext): Record<string, unknown> {
  return {
    request_id: state.requestId,
    account_id: state.principal?.tenant?.accountId,
    method,
    route: state.route?.path,
  };
}
