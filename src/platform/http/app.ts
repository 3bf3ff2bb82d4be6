import type { IncomingMessage } from 'node:http';
import Koa from 'koa';
import type pg from 'pg';
import type { Logger } from 'pino';
import { clientNetwork, createClientAddress } from '../auth/client-address.ts';
import type { Authenticate } from '../auth/tenant.ts';
import type { BodyBudgets } from './body-budgets.ts';
import type { HttpApp, Middleware } from './context.ts';
import { SLOW_READER } from './large-lists.ts';
import { auditChanges, auditRefusals, isAudited } from './middlewares/audit.ts';
import { authenticate, authorize } from './middlewares/authenticate.ts';
import { drain } from './middlewares/drain.ts';
import { errors } from './middlewares/errors.ts';
import { handle } from './middlewares/handle.ts';
import { headers, securityHeaders } from './middlewares/headers.ts';
import { idempotency } from './middlewares/idempotency.ts';
import { knownKeys } from './middlewares/known-keys.ts';
import { metrics, type HttpMetrics } from './middlewares/metrics.ts';
import { rateLimit } from './middlewares/rate-limit.ts';
import { requestId } from './middlewares/request-id.ts';
import { unmatched } from './middlewares/unmatched.ts';
import { unreadBody } from './middlewares/unread-body.ts';
import { validate } from './middlewares/validate.ts';
import type { RateLimiter } from './rate-limiter.ts';
import type { RouteDefinition } from './route.ts';
import { createRouter } from './router.ts';

export interface AppDeps {
  config: { RATE_LIMIT_PER_KEY: number; PUBLIC_URL?: string | undefined; TRUSTED_PROXIES: string[] };
  pool: pg.Pool;
  log: Logger;
  routes: RouteDefinition[];
  authenticate: Authenticate;
  rateLimiter: RateLimiter;
  /** Of the whole process. */
  budgets: BodyBudgets;
  metrics: HttpMetrics;
  /** Whether the process is stopping. If so, responses ask the client to reconnect. */
  draining: () => boolean;
}

const DISCONNECTED = new Set(['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE', SLOW_READER]);

/** A Koa app without middlewares that logs the errors which no middleware caught. */
export function createBareApp(log: Logger): HttpApp {
  const app: HttpApp = new Koa();
  // These errors occur while Koa sends a response, whose connection is then closed.
  app.on('error', (error: NodeJS.ErrnoException) => {
    if (DISCONNECTED.has(error.code ?? '')) log.debug({ err: error }, 'client disconnected');
    else log.error({ err: error }, 'unhandled error in middleware');
  });
  return app;
}

/** The middlewares of each route, in order. */
function routeChain({ config, pool, log, ...deps }: AppDeps, publicUrl: string | null) {
  const limit = rateLimit(deps.rateLimiter, config.RATE_LIMIT_PER_KEY);
  const clientAddress = createClientAddress(config.TRUSTED_PROXIES);
  const networkOf = (request: IncomingMessage) => clientNetwork(clientAddress(request));
  const { budgets } = deps;
  const audit = { pool, log, clientAddress };
  const callerOf = (route: RouteDefinition): Middleware[] => {
    if (route.auth === 'none') return [];
    const refusals = isAudited(route) ? [auditRefusals(audit, route)] : [];
    return [authenticate(deps.authenticate, route.auth), limit, ...refusals, authorize(route)];
  };
  return (route: RouteDefinition): Middleware[] => [
    ...callerOf(route),
    ...(route.idempotency === 'none' ? [] : [knownKeys(pool, route)]),
    validate(route, { log, publicUrl, budgets, networkOf }),
    ...(isAudited(route) ? [auditChanges(audit, route)] : []),
    route.idempotency === 'middleware' ? idempotency(pool, route) : handle(route),
  ];
}

/**
 * The HTTP application that serves a set of routes.
 * @throws Error if two routes have the same method and path
 */
export function createApp(deps: AppDeps): HttpApp {
  const publicUrl = deps.config.PUBLIC_URL ?? null;
  const app = createBareApp(deps.log);
  app.use(requestId());
  app.use(metrics(deps.metrics, deps.log));
  app.use(headers(securityHeaders(publicUrl?.startsWith('https:') ?? false)));
  app.use(drain(deps.draining));
  app.use(unreadBody());
  app.use(errors(deps.log));
  app.use(createRouter(deps.routes, routeChain(deps, publicUrl)));
  app.use(unmatched());
  return app;
}
