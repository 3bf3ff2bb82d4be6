import type { Logger } from 'pino';
import { createAuthenticate } from '../auth/authenticate.ts';
import { createKeyLookup } from '../auth/key-lookup.ts';
import { createKeyUsage, type KeyUsage } from '../auth/key-usage.ts';
import { createLogin } from '../auth/login-service.ts';
import type { Authenticate } from '../auth/principal.ts';
import { createSessionTokens } from '../auth/session-token.ts';
import { requireSettings, type Config } from '../config.ts';
import type { Database } from '../db/database.ts';
import { createWaker } from '../db/wake.ts';
import { createApp } from '../http/app.ts';
import { createFleetShare, type FleetShare } from '../http/fleet-share.ts';
import { createHealthRoutes, metricsRoute } from '../http/health-routes.ts';
import { listen, type Listening } from '../http/listen.ts';
import { createHttpMetrics, type HttpMetrics } from '../http/metrics.ts';
import { createRateLimiter } from '../http/rate-limit.ts';
import { createReadinessCheck } from '../http/readiness.ts';
import type { RouteDefinition } from '../http/route.ts';
import { createOpenApiRoutes } from '../openapi/routes.ts';
import { webhookDescriptions } from '../openapi/webhook-events.ts';
import { createKeyring } from '../secrets/keyring.ts';
import type { ApiDeps } from './deps.ts';
import { createRoutes } from './routes.ts';

export interface ApiServerDeps {
  /** `APP_SECRET` must be set. */
  config: Config;
  database: Database;
  log: Logger;
  /** Routes beyond those of the rooms; for tests. */
  extraRoutes?: RouteDefinition[];
}

export interface ApiServer {
  port: number;
  /** Every route it answers, as OpenAPI sees them. */
  routes: RouteDefinition[];
  /** Finish what is under way (at most `SHUTDOWN_GRACE_SECONDS`), then stop. The database stays open. */
  stop(): Promise<void>;
}

interface Parts {
  deps: ApiDeps;
  fleet: FleetShare;
  usage: KeyUsage;
  metrics: HttpMetrics;
  authenticate: Authenticate;
}

function createParts({ config, database, log }: ApiServerDeps): Parts {
  const { APP_SECRET } = requireSettings(config, 'APP_SECRET');
  const { pool } = database;
  const keyring = createKeyring(APP_SECRET, config.APP_SECRET_PREVIOUS);
  const tokens = createSessionTokens(keyring);
  const usage = createKeyUsage(pool, log);
  const fleet = createFleetShare(pool, log);
  const deps: ApiDeps = {
    config,
    database,
    log,
    keyring,
    tokens,
    rateLimiter: createRateLimiter(() => fleet.processes()),
    waker: createWaker({ url: database.url }),
    login: createLogin(pool),
  };
  const authenticate = createAuthenticate({ db: pool, keys: createKeyLookup(pool), usage, tokens });
  return { deps, fleet, usage, metrics: createHttpMetrics(pool), authenticate };
}

/** The API, and `/metrics` on a port of its own where `METRICS_PORT` is set. */
async function serve(
  { deps, metrics, authenticate }: Parts,
  routes: RouteDefinition[],
  draining: () => boolean,
): Promise<Listening[]> {
  const { config, database, log, rateLimiter } = deps;
  const floor = { config, pool: database.pool, log, authenticate, rateLimiter, metrics, draining };
  const onPort = (port: number, served: RouteDefinition[]) => {
    const callback = createApp({ ...floor, routes: served }).callback();
    return listen((request, response) => void callback(request, response), config.HOST, port);
  };
  const api = await onPort(config.PORT, routes);
  if (config.METRICS_PORT === 0) return [api];
  try {
    return [api, await onPort(config.METRICS_PORT, [metricsRoute(metrics)])];
  } catch (error) {
    await api.stop(0);
    throw error;
  }
}

/**
 * Assemble the HTTP API and serve it.
 * @throws ConfigError without `APP_SECRET`; the system's error where a port is taken
 */
export async function startApi(server: ApiServerDeps): Promise<ApiServer> {
  const { config, database, extraRoutes = [] } = server;
  const parts = createParts(server);
  let draining = false;
  const isDraining = () => draining;
  const routes: RouteDefinition[] = [
    ...createHealthRoutes(createReadinessCheck(database.pool, config.TEMPORAL_ADDRESS, isDraining)),
    ...(config.METRICS_PORT === 0 ? [metricsRoute(parts.metrics)] : []),
    ...createOpenApiRoutes({
      routes: () => routes,
      publicUrl: config.PUBLIC_URL ?? null,
      webhooks: webhookDescriptions,
    }),
    ...createRoutes(parts.deps),
    ...extraRoutes,
  ];

  async function release(): Promise<void> {
    parts.fleet.stop();
    await parts.deps.waker.close();
    await parts.usage.stop();
  }

  let servers: Listening[];
  try {
    servers = await serve(parts, routes, isDraining);
  } catch (error) {
    await release();
    throw error;
  }
  return {
    port: servers[0]?.port ?? config.PORT,
    routes,
    async stop() {
      draining = true;
      await Promise.all(servers.map((each) => each.stop(config.SHUTDOWN_GRACE_SECONDS)));
      await release();
    },
  };
}
