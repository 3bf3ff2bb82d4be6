import type { Logger } from 'pino';
import { createAuthenticate } from '../auth/authenticate.ts';
import { createKeyLookup } from '../auth/key-lookup.ts';
import { createKeyUsage } from '../auth/key-usage.ts';
import { createLogin } from '../auth/login-service.ts';
import { createSessionTokens } from '../auth/session-token.ts';
import { requireSettings, type Config } from '../config.ts';
import type { Database } from '../db/database.ts';
import { createWaker } from '../db/wake.ts';
import { createApp } from '../http/app.ts';
import { createFleetShare } from '../http/fleet-share.ts';
import { createHealthRoutes, metricsRoute } from '../http/health-routes.ts';
import { listen, type Listening } from '../http/listen.ts';
import { createHttpMetrics } from '../http/metrics.ts';
import { createRateLimiter } from '../http/rate-limit.ts';
import { createReadinessCheck } from '../http/readiness.ts';
import type { RouteDefinition } from '../http/route.ts';
import { createOpenApiRoutes } from '../openapi/routes.ts';
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

/**
 * Assemble the HTTP API and serve it.
 * @throws ConfigError without `APP_SECRET`; the system's error where the port is taken
 */
export async function startApi({
  config,
  database,
  log,
  extraRoutes = [],
}: ApiServerDeps): Promise<ApiServer> {
  const { APP_SECRET } = requireSettings(config, 'APP_SECRET');
  const keyring = createKeyring(APP_SECRET, config.APP_SECRET_PREVIOUS);
  const tokens = createSessionTokens(keyring);
  const usage = createKeyUsage(database.pool, log);
  const fleet = createFleetShare(database.pool, log);
  const rateLimiter = createRateLimiter(fleet.processes);
  const metrics = createHttpMetrics(database);
  const waker = createWaker({ url: database.url });
  let draining = false;
  const check = createReadinessCheck(database.pool, config.TEMPORAL_ADDRESS, () => draining);

  const deps: ApiDeps = {
    config,
    database,
    log,
    keyring,
    tokens,
    rateLimiter,
    waker,
    login: createLogin(database.pool),
  };
  const ownPort = config.METRICS_PORT !== 0;
  const routes: RouteDefinition[] = [
    ...createHealthRoutes(check),
    ...(ownPort ? [] : [metricsRoute(metrics)]),
    ...createRoutes(deps),
    ...createOpenApiRoutes({ routes: () => routes, publicUrl: config.PUBLIC_URL ?? null, webhooks: [] }),
    ...extraRoutes,
  ];
  const floor = {
    config,
    pool: database.pool,
    log,
    authenticate: createAuthenticate({
      db: database.pool,
      keys: createKeyLookup(database.pool),
      usage,
      tokens,
    }),
    rateLimiter,
    metrics,
    draining: () => draining,
  };
  const servers: Listening[] = [
    await listen(createApp({ ...floor, routes }).callback(), config.HOST, config.PORT),
  ];
  if (ownPort) {
    const app = createApp({ ...floor, routes: [metricsRoute(metrics)] });
    servers.push(await listen(app.callback(), config.HOST, config.METRICS_PORT));
  }
  return {
    port: servers[0]?.port ?? config.PORT,
    routes,
    async stop() {
      draining = true;
      await Promise.all(servers.map((server) => server.stop(config.SHUTDOWN_GRACE_SECONDS)));
      fleet.stop();
      await waker.close();
      await usage.stop();
    },
  };
}
