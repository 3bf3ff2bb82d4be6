import type { Logger } from 'pino';
import { requireSettings, type Config } from '../config.ts';
import { eventConsumers } from '../features/events.ts';
import { type FeatureDeps, createFeatureRoutes } from '../features/routes.ts';
import { upkeep } from '../features/upkeep.ts';
import { webhookSection } from '../features/webhooks/openapi.ts';
import { startMailbox } from '../local/mailbox/server.ts';
import { createLogger } from '../log.ts';
import { createAuthenticate } from '../platform/auth/authenticate.ts';
import { createKeyLookup } from '../platform/auth/key-lookup.ts';
import { createKeyUsage, type KeyUsage } from '../platform/auth/key-usage.ts';
import { createSessionTokens } from '../platform/auth/session-token.ts';
import type { Authenticate } from '../platform/auth/tenant.ts';
import { type Database, requireConnections, openDatabase } from '../platform/db/database.ts';
import { createWaker } from '../platform/db/wake.ts';
import { createEventPublisher } from '../platform/events/publish.ts';
import { createApp } from '../platform/http/app.ts';
import { createHealthRoutes, metricsRoute, createReadinessCheck } from '../platform/http/health.ts';
import { listen, type Listening } from '../platform/http/listen.ts';
import { createHttpMetrics, type HttpMetrics } from '../platform/http/middlewares/metrics.ts';
import { createRateLimiter } from '../platform/http/rate-limiter.ts';
import type { RouteDefinition } from '../platform/http/route.ts';
import { createOpenApiRoutes } from '../platform/openapi/routes.ts';
import { createFleetShare, type FleetShare } from '../platform/processes/fleet.ts';
import { registerProcess } from '../platform/processes/process.ts';
import { createKeyring } from '../platform/secrets/keyring.ts';

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
  deps: FeatureDeps;
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
  const deps: FeatureDeps = {
    config,
    database,
    log,
    keyring,
    tokens,
    rateLimiter: createRateLimiter(() => fleet.processes()),
    waker: createWaker({ url: database.url }),
    events: createEventPublisher(eventConsumers),
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
      webhooks: webhookSection(),
    }),
    ...createFeatureRoutes(parts.deps),
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

const POOL = 16;

/**
 * The `api` role: the HTTP API, in this process.
 * @throws ConfigError without `DATABASE_URL` and `APP_SECRET`; the system's error where the port is taken
 */
export async function run(config: Config): Promise<{ stop(): Promise<void> }> {
  const { DATABASE_URL } = requireSettings(config, 'DATABASE_URL', 'APP_SECRET');
  const log = createLogger(config, 'api');
  const options = {
    url: DATABASE_URL,
    poolMax: config.DATABASE_POOL ?? POOL,
    applicationName: 'carillon api',
  };
  /** What was started, to be stopped in the opposite order. */
  const started: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const each of started.splice(0).reverse()) await each();
  };
  try {
    const database = openDatabase(options);
    started.push(() => database.close());
    await requireConnections(database.pool, options.poolMax, (facts, message) => log.warn(facts, message));
    const live = await registerProcess(options, 'api', upkeep.processWork);
    started.push(() => live.close());
    const server = await startApi({ config, database, log });
    started.push(() => server.stop());
    if (config.CARILLON_DEV && config.MAILBOX_TOKEN !== undefined) {
      const mailbox = await startMailbox({ config, database, token: config.MAILBOX_TOKEN, log });
      started.push(() => mailbox.stop());
    }
    log.info({ host: config.HOST, port: server.port }, 'api listens');
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    async stop() {
      await stop();
      log.info('api stopped');
    },
  };
}
