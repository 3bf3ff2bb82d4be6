import { randomUUID } from 'node:crypto';
import Koa from 'koa';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Authenticate, Principal } from '../auth/principal.ts';
import { AppError } from '../errors.ts';
import { ClientGone, discardRest } from './body.ts';
import { toAppError } from './error-handler.ts';
import { requestFingerprint, withIdempotency } from './idempotency.ts';
import type { HttpMetrics } from './metrics.ts';
import { parseRequest, type ParsedRequest } from './parse-request.ts';
import type { HeaderList, RateLimiter } from './rate-limit.ts';
import { createRouteInput } from './request-input.ts';
import { createResponseWriter, errorBody } from './respond.ts';
import type { RouteDefinition, RouteInput, RouteResult } from './route.ts';
import { createRouter } from './router.ts';

export interface AppDeps {
  config: { RATE_LIMIT_PER_KEY: number; PUBLIC_URL?: string | undefined };
  pool: pg.Pool;
  log: Logger;
  routes: RouteDefinition[];
  authenticate: Authenticate;
  rateLimiter: RateLimiter;
  metrics: HttpMetrics;
  /** Whether the process is stopping: answers then ask the client to connect anew. */
  draining?: () => boolean;
}

/** One request on its way; filled in as more becomes known, for the answer's headers and the log. */
interface Exchange {
  ctx: Koa.Context;
  requestId: string;
  path: string;
  search: string;
  route: RouteDefinition | null;
  principal: Principal | null;
  limitHeaders: HeaderList;
}

const SANE_REQUEST_ID = /^[\w.:+/=@-]{1,128}$/;
const SLOW_SECONDS = 2;

function begin(ctx: Koa.Context): Exchange {
  const url = ctx.req.url ?? '/';
  const mark = url.indexOf('?');
  const given = ctx.req.headers['x-request-id'];
  return {
    ctx,
    requestId: typeof given === 'string' && SANE_REQUEST_ID.test(given) ? given : randomUUID(),
    path: mark === -1 ? url : url.slice(0, mark),
    search: mark === -1 ? '' : url.slice(mark + 1),
    route: null,
    principal: null,
    limitHeaders: [],
  };
}

function authorize(route: RouteDefinition, principal: Principal): void {
  const { tenant } = principal;
  if (route.roles && !route.roles.includes(tenant.role)) {
    throw new AppError('forbidden', `this needs the role ${route.roles.join(' or ')}, not ${tenant.role}`);
  }
  if (route.auth === 'brand' && tenant.brandId === null) {
    throw new AppError('brand_required', 'the account has no brand yet; make one by PUT /v1/my/brand');
  }
}

/** The floor: everything between Node's request and a room's handler. */
function createFloor(deps: AppDeps) {
  const { config, log, authenticate, rateLimiter, metrics, pool } = deps;
  const router = createRouter(deps.routes);
  const publicUrl = config.PUBLIC_URL?.replace(/\/+$/, '') ?? null;
  const writer = createResponseWriter(publicUrl?.startsWith('https:') ?? false);

  function find(
    exchange: Exchange,
  ): { route: RouteDefinition; params: Record<string, string> } | RouteResult {
    const { method = 'GET' } = exchange.ctx.req;
    const match = router.match(method, exchange.path);
    if (match.kind === 'route') return match;
    if (match.kind === 'unknown') throw new AppError('not_found', 'there is nothing at this path');
    if (method === 'OPTIONS') return { status: 204, body: undefined, headers: { Allow: match.allow } };
    throw new AppError('method_not_allowed', `${method} is not possible here; ${match.allow} is`, {
      headers: { Allow: match.allow },
    });
  }

  async function admit(exchange: Exchange, route: RouteDefinition): Promise<void> {
    if (route.auth === 'none') return;
    const principal = await authenticate(exchange.ctx.req.headers);
    exchange.principal = principal;
    exchange.limitHeaders = rateLimiter.request(
      principal.rateLimitName,
      principal.rateLimitPerSecond ?? config.RATE_LIMIT_PER_KEY,
    );
    authorize(route, principal);
  }

  async function call(
    route: RouteDefinition,
    input: RouteInput,
    parsed: ParsedRequest,
  ): Promise<RouteResult> {
    const { create, load } = route;
    if (!create || !load) return route.handler(input);
    const brandId = input.tenant?.brandId;
    const key = parsed.idempotencyKey;
    const request =
      key === null || brandId === null || brandId === undefined
        ? null
        : {
            brandId,
            endpoint: `${route.method} ${route.path}`,
            key,
            fingerprint: requestFingerprint(parsed),
          };
    return withIdempotency(
      pool,
      request,
      (trx) => create(input, trx),
      (resourceId) => load(input, resourceId),
    );
  }

  async function answer(exchange: Exchange): Promise<RouteResult> {
    const found = find(exchange);
    if ('status' in found) return found;
    const { route, params } = found;
    exchange.route = route;
    await admit(exchange, route);
    const parsed = await parseRequest(route, exchange.ctx.req, params, exchange.search);
    const { ctx, requestId, principal } = exchange;
    const tenant = principal?.tenant ?? null;
    return call(route, createRouteInput(parsed, { requestId, tenant, ctx, log, publicUrl }), parsed);
  }

  function send(exchange: Exchange, result: RouteResult): void {
    const { ctx, requestId, limitHeaders } = exchange;
    const headers = ['X-Request-Id', requestId, ...limitHeaders];
    if (deps.draining?.()) headers.push('Connection', 'close');
    writer.send(ctx.res, result, headers);
    if (!ctx.req.complete) discardRest(ctx.req);
  }

  function fail(exchange: Exchange, thrown: unknown): number {
    if (thrown instanceof ClientGone || exchange.ctx.res.destroyed) return 499;
    const error = toAppError(thrown);
    const { requestId, principal, route } = exchange;
    const facts = {
      request_id: requestId,
      account_id: principal?.tenant.accountId,
      route: route?.operationId,
      code: error.code,
    };
    if (error.status >= 500) log.error({ ...facts, err: thrown }, 'request failed');
    else log.debug(facts, 'request refused');
    if (exchange.ctx.res.headersSent) exchange.ctx.res.destroy();
    else send(exchange, { status: error.status, body: errorBody(error), headers: error.headers });
    return error.status;
  }

  function observe(exchange: Exchange, status: number, startedAtMs: number): void {
    const { ctx, route, requestId, principal } = exchange;
    const seconds = (performance.now() - startedAtMs) / 1000;
    metrics.observe(ctx.method, route?.path ?? 'unknown', status, seconds);
    if (seconds < SLOW_SECONDS && !log.isLevelEnabled('debug')) return;
    const facts = {
      request_id: requestId,
      account_id: principal?.tenant.accountId,
      method: ctx.method,
      route: route?.path,
      status,
      duration_ms: Math.round(seconds * 1000),
    };
    if (seconds >= SLOW_SECONDS) log.warn(facts, 'slow request');
    else log.debug(facts, 'request');
  }

  return async function floor(ctx: Koa.Context): Promise<void> {
    // Koa's own way of answering would set the headers one by one.
    ctx.respond = false;
    const startedAtMs = performance.now();
    const exchange = begin(ctx);
    let status: number;
    try {
      const result = await answer(exchange);
      send(exchange, result);
      ({ status } = result);
    } catch (error) {
      status = fail(exchange, error);
    }
    observe(exchange, status, startedAtMs);
  };
}

/**
 * The HTTP application over a set of routes.
 * @throws Error where two routes have the same method and path
 */
export function createApp(deps: AppDeps): Koa {
  const app = new Koa();
  app.on('error', (error: unknown) => deps.log.error({ err: error }, 'outside the floor'));
  app.use(createFloor(deps));
  return app;
}
