import Koa from 'koa';
import type pg from 'pg';
import type { Logger } from 'pino';
import { AppError } from '../../errors.ts';
import type { Authenticate, Principal } from '../auth/tenant.ts';
import { requestFingerprint, withIdempotency } from '../db/idempotency.ts';
import { ClientGone, discardRest } from './body.ts';
import { toAppError } from './error-handler.ts';
import { beginExchange, exchangeFacts, type Exchange } from './exchange.ts';
import { createRouteInput } from './input.ts';
import type { HttpMetrics } from './metrics.ts';
import { parseRequest, type ParsedRequest } from './parse-request.ts';
import type { RateLimiter } from './rate-limiter.ts';
import { createResponseWriter, errorBody, type ResponseWriter } from './respond.ts';
import type { RouteDefinition, RouteInput, RouteResult } from './route.ts';
import { createRouter, type Router } from './router.ts';

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

interface Floor extends AppDeps {
  router: Router;
  writer: ResponseWriter;
  publicUrl: string | null;
}

/** The status in logs and metrics of a request whose client left before the answer. */
const CLIENT_GONE = 499;
const SLOW_SECONDS = 2;

function find(
  floor: Floor,
  exchange: Exchange,
): { route: RouteDefinition; params: Record<string, string> } | RouteResult {
  const { method = 'GET' } = exchange.ctx.req;
  const match = floor.router.match(method, exchange.path);
  if (match.kind === 'route') return match;
  if (match.kind === 'unknown') throw new AppError('not_found', 'there is nothing at this path');
  const headers = { Allow: match.allow };
  if (method === 'OPTIONS') return { status: 204, body: undefined, headers };
  throw new AppError('method_not_allowed', `${method} is not possible here, only ${match.allow}`, {
    headers,
  });
}

function authorize(route: RouteDefinition, { tenant }: Principal): void {
  if (route.roles && !route.roles.includes(tenant.role)) {
    throw new AppError('forbidden', `this needs the role ${route.roles.join(' or ')}, not ${tenant.role}`);
  }
  if (route.auth === 'brand' && tenant.brandId === null) {
    throw new AppError('brand_required', 'the account has no brand yet; make one by PUT /v1/my/brand');
  }
}

async function admit(floor: Floor, exchange: Exchange, route: RouteDefinition): Promise<void> {
  if (route.auth === 'none') return;
  const principal = await floor.authenticate(exchange.ctx.req.headers);
  exchange.principal = principal;
  exchange.limitHeaders = floor.rateLimiter.request(
    principal.rateLimitName,
    principal.rateLimitPerSecond ?? floor.config.RATE_LIMIT_PER_KEY,
  );
  authorize(route, principal);
}

async function call(
  floor: Floor,
  route: RouteDefinition,
  input: RouteInput,
  parsed: ParsedRequest,
): Promise<RouteResult> {
  const { create, load } = route;
  if (!create || !load) return route.handler(input);
  const brandId = input.tenant?.brandId ?? null;
  const key = parsed.idempotencyKey;
  const endpoint = `${route.method} ${route.path}`;
  return withIdempotency(
    floor.pool,
    key === null || brandId === null
      ? null
      : { brandId, endpoint, key, fingerprint: requestFingerprint(parsed) },
    (trx) => create(input, trx),
    (resourceId) => load(input, resourceId),
  );
}

/** From path to answer; every step may throw an AppError instead. */
async function answer(floor: Floor, exchange: Exchange): Promise<RouteResult> {
  const found = find(floor, exchange);
  if ('status' in found) return found;
  const { route, params } = found;
  exchange.route = route;
  await admit(floor, exchange, route);
  const parsed = await parseRequest(route, exchange.ctx.req, params, exchange.search);
  const { ctx, requestId, principal } = exchange;
  const tenant = principal?.tenant ?? null;
  const input = createRouteInput(parsed, {
    requestId,
    tenant,
    ctx,
    log: floor.log,
    publicUrl: floor.publicUrl,
  });
  return call(floor, route, input, parsed);
}

function send(floor: Floor, { ctx, requestId, limitHeaders }: Exchange, result: RouteResult): void {
  const headers = ['X-Request-Id', requestId, ...limitHeaders];
  if (floor.draining?.()) headers.push('Connection', 'close');
  floor.writer.send(ctx.res, result, headers);
  if (!ctx.req.complete) discardRest(ctx.req);
}

/** @returns the status the client was told, or would have been */
function fail(floor: Floor, exchange: Exchange, thrown: unknown): number {
  const { res } = exchange.ctx;
  if (thrown instanceof ClientGone || res.destroyed) return CLIENT_GONE;
  const error = toAppError(thrown);
  const facts = { ...exchangeFacts(exchange), code: error.code };
  if (error.status >= 500) floor.log.error({ ...facts, err: thrown }, 'request failed');
  else floor.log.debug(facts, 'request refused');
  if (res.headersSent) res.destroy();
  else send(floor, exchange, { status: error.status, body: errorBody(error), headers: error.headers });
  return error.status;
}

function observe(floor: Floor, exchange: Exchange, status: number): void {
  const seconds = (performance.now() - exchange.startedAtMs) / 1000;
  floor.metrics.observe(exchange.ctx.method, exchange.route?.path ?? 'unknown', status, seconds);
  const slow = seconds >= SLOW_SECONDS;
  if (!slow && !floor.log.isLevelEnabled('debug')) return;
  const facts = { ...exchangeFacts(exchange), status, duration_ms: Math.round(seconds * 1000) };
  if (slow) floor.log.warn(facts, 'slow request');
  else floor.log.debug(facts, 'request');
}

async function handle(floor: Floor, ctx: Koa.Context): Promise<void> {
  // Koa's own way of answering would set the headers one by one.
  ctx.respond = false;
  const exchange = beginExchange(ctx);
  let status: number;
  try {
    const result = await answer(floor, exchange);
    send(floor, exchange, result);
    ({ status } = result);
  } catch (error) {
    status = fail(floor, exchange, error);
  }
  observe(floor, exchange, status);
}

/**
 * The HTTP application over a set of routes: everything between Node's request and a room's handler.
 * @throws Error where two routes have the same method and path
 */
export function createApp(deps: AppDeps): Koa {
  const publicUrl = deps.config.PUBLIC_URL?.replace(/\/+$/, '') ?? null;
  const floor: Floor = {
    ...deps,
    publicUrl,
    router: createRouter(deps.routes),
    writer: createResponseWriter(publicUrl?.startsWith('https:') ?? false),
  };
  const app = new Koa();
  app.on('error', (error: unknown) => deps.log.error({ err: error }, 'outside the floor'));
  app.use((ctx) => handle(floor, ctx));
  return app;
}
