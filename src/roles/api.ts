import type { RequestListener } from 'node:http';
import type { Logger } from 'pino';
import { requireSettings, type Config } from '../config.ts';
import { createFileDecoder } from '../features/attachments/service.ts';
import { createContentEngine } from '../delivery/content/templates/engine.ts';
import { createTrackedEventConsumers, eventConsumers } from '../features/events.ts';
import { createHtmlSanitizer } from '../features/inbox/conversations/html/sanitizer.ts';
import { findGrantCaller } from '../features/oauth/index.ts';
import { type FeatureDeps, createFeatureRoutes } from '../features/routes.ts';
import { upkeep } from '../features/upkeep.ts';
import { createPasswordChecks } from '../features/users/service.ts';
import { webhookSection } from '../features/webhooks/openapi.ts';
import { startMailbox } from '../local/mailbox/server.ts';
import { createLogger } from '../log.ts';
import { createAuthenticate } from '../platform/auth/authenticate.ts';
import { createFindKey } from '../platform/auth/find-key.ts';
import { createFindCookieSession } from '../platform/auth/cookie-session.ts';
import { createKeyLookup } from '../platform/auth/key-lookup.ts';
import { createClientAddress } from '../platform/auth/client-address.ts';
import { createLastUses } from '../platform/auth/last-use.ts';
import { createOwnOrigin } from '../platform/auth/own-origin.ts';
import { createSessionCookies } from '../platform/auth/session-cookie.ts';
import { createSessionIssuer } from '../platform/auth/session-issuer.ts';
import { createSessionTokens } from '../platform/auth/session-token.ts';
import {
  createServerChanges,
  type Database,
  directUrlOf,
  checkServer,
  openDatabase,
  type ServerChanges,
} from '../platform/db/database.ts';
import { CONNECTIONS as HEAVY_READ_CONNECTIONS, openHeavyReads } from '../platform/processes/heavy-reads.ts';
import { createDatabaseWait } from '../platform/db/availability.ts';
import { peersOf } from '../platform/processes/wake-peers.ts';
import { createWaker } from '../platform/db/wake.ts';
import { createResolver } from '../platform/dns/resolver.ts';
import { createEgress } from '../platform/egress/client.ts';
import { createEventPublisher } from '../platform/events/publish.ts';
import { createApp, type AppDeps } from '../platform/http/app.ts';
import { createBodyBudgets } from '../platform/http/body-budgets.ts';
import { createConnectionLimits, type ConnectionLimits } from '../platform/http/connection-limits.ts';
import { createHealthRoutes, metricsRoute, createReadinessCheck } from '../platform/http/health.ts';
import { createInnerRequests } from '../platform/http/inner-requests.ts';
import { listen, type Listening } from '../platform/http/listen.ts';
import { createHttpMetrics } from '../platform/http/middlewares/metrics.ts';
import { opsPortOf } from '../platform/http/operators.ts';
import { createRateLeases } from '../platform/http/rate-leases.ts';
import { createRateLimiter, MAX_BUCKETS_OF_STRANGERS } from '../platform/http/rate-limiter.ts';
import type { RouteDefinition } from '../platform/http/route.ts';
import { createDescription, createOpenApiRoutes } from '../platform/openapi/routes.ts';
import { createFleetShare } from '../platform/processes/fleet.ts';
import { registerProcess } from '../platform/processes/process.ts';
import { createTokenBuckets } from '../platform/processes/token-buckets.ts';
import type { Keyring } from '../platform/secrets/keyring.ts';
import { openKeyring } from '../platform/secrets/stored-keys.ts';
import { createConsoleRoutes } from './console/routes.ts';
import { REQUEST_ROLES } from './names.ts';

const DEFAULT_POOL = 16;
/** Number of connections that record opens, clicks and reports: one for a group of each, and a spare one. */
const RECORDING_POOL = 3;
const USER_AGENT = 'Carillon/1';
/** Number of threads that compile and render templates. Each starts when it is first needed, and then takes 100 MB. */
const CONTENT_THREADS = 2;

export interface ApiServerDeps {
  config: Config;
  database: Database;
  keyring: Keyring;
  /** The emitter that `database` was opened with. */
  serverChanges?: ServerChanges | undefined;
  log: Logger;
  /** Routes beyond those of the features; for tests. */
  extraRoutes?: RouteDefinition[];
  /** The folder of the console's bundle; for tests. */
  consoleFolder?: string | undefined;
}

export interface ApiServer {
  port: number;
  /** The port for operators; null if the default one was taken. */
  opsPort: number | null;
  /** Every route that is served. */
  routes: RouteDefinition[];
  /** Finishes the requests in progress, for at most `SHUTDOWN_GRACE_SECONDS`. The database stays open. */
  stop(): Promise<void>;
}

/** Functions that stop what was started, in the order of the starts; called in reverse. */
type Started = (() => Promise<void>)[];

async function stopAll(started: Started): Promise<void> {
  for (const stop of started.splice(0).reverse()) await stop();
}

/** Creates what parses the texts of clients and strangers in threads. */
function createTextThreads(started: Started) {
  const contents = createContentEngine({ threads: CONTENT_THREADS });
  started.push(() => contents.close());
  const htmlSanitizer = createHtmlSanitizer();
  started.push(() => htmlSanitizer.close());
  const fileDecoder = createFileDecoder();
  started.push(() => fileDecoder.close());
  return { contents, htmlSanitizer, fileDecoder };
}

/** Creates what reaches the internet. */
function createOutgoing(config: Config, started: Started) {
  const resolver = createResolver(config.DNS_SERVERS);
  const egress = createEgress({ resolver, allow: config.EGRESS_ALLOW, userAgent: USER_AGENT });
  const websites = createEgress({ resolver, allow: config.SCRAPE_ALLOW, userAgent: USER_AGENT });
  for (const each of [egress, websites]) started.push(() => each.close());
  return { resolver, egress, websites };
}

/** Creates what knows callers, and what starts their sessions. */
function createAuth(config: Config, { pool }: Database, keyring: Keyring, log: Logger, started: Started) {
  const ownOrigin = createOwnOrigin(config.PUBLIC_URL);
  const innerRequests = createInnerRequests();
  const tokens = createSessionTokens(keyring);
  const cookies = createSessionCookies(config.PUBLIC_URL, keyring);
  const keyUses = createLastUses(pool, ['api_keys', 'send_keys'], log);
  const sessionUses = createLastUses(pool, ['sessions'], log);
  for (const each of [keyUses, sessionUses]) started.push(() => each.stop());
  return {
    ownOrigin,
    innerRequests,
    authenticate: innerRequests.admit(
      createAuthenticate({
        db: pool,
        findKey: createFindKey({ keys: createKeyLookup(pool), keyUses }),
        tokens,
        cookies,
        sessionUses,
        findGrantCaller,
        ownOrigin,
      }),
    ),
    findCookieSession: createFindCookieSession({ db: pool, cookies, sessionUses }),
    sessions: createSessionIssuer(tokens, cookies, createClientAddress(config.TRUSTED_PROXIES)),
  };
}

/** The description is of the routes, so it comes after them. */
type SharedDeps = Omit<FeatureDeps, 'description'>;

/** Creates the objects that the routes and the app share. */
function createShared({ config, database, keyring, log, serverChanges }: ApiServerDeps, started: Started) {
  const { pool } = database;
  const urls = { url: database.url, directUrl: config.DATABASE_DIRECT_URL, serverChanges };
  const recording = openDatabase({
    url: directUrlOf(urls),
    serverChanges,
    poolMax: RECORDING_POOL,
    applicationName: 'carillon api',
    keyedPlans: true,
  });
  started.push(() => recording.close());
  const { authenticate, ...auth } = createAuth(config, database, keyring, log, started);
  const waker = createWaker(urls, peersOf({ config, db: pool, log }));
  started.push(() => waker.close());
  const fleet = createFleetShare(pool, log);
  const requestFleet = createFleetShare(pool, log, REQUEST_ROLES);
  started.push(async () => fleet.stop());
  started.push(async () => requestFleet.stop());
  const rateLimiter = createRateLimiter(
    () => fleet.processes(),
    createTokenBuckets(),
    createRateLeases(pool),
    createTokenBuckets(undefined, MAX_BUCKETS_OF_STRANGERS),
    () => requestFleet.processes(),
  );
  const heavyReads = openHeavyReads(urls);
  started.push(() => heavyReads.close());
  const { resolver, egress, websites } = createOutgoing(config, started);
  const { contents, htmlSanitizer, fileDecoder } = createTextThreads(started);
  const events = createEventPublisher(eventConsumers);
  const metrics = createHttpMetrics(pool);
  const { counter } = metrics;
  const features: SharedDeps = {
    config,
    database,
    heavyReads,
    recordingPool: recording.pool,
    log,
    keyring,
    resolver,
    egress,
    websites,
    contents,
    htmlSanitizer,
    fileDecoder,
    ...auth,
    ...createPasswordChecks(),
    rateLimiter,
    waker,
    events,
    trackedEventConsumers: createTrackedEventConsumers({ waker }),
    counter,
  };
  const budgets = createBodyBudgets((facts) =>
    log.warn(facts, 'bodies refused: too many are being received'),
  );
  return { features, app: { config, pool, log, authenticate, rateLimiter, budgets, metrics } };
}

/** Lists every route of the API: health, OpenAPI, the features, and the console. */
function listRoutes(server: ApiServerDeps, features: SharedDeps, app: Omit<AppDeps, 'routes'>) {
  const { config, database, extraRoutes = [] } = server;
  const readiness = createReadinessCheck(database.pool, config.TEMPORAL_ADDRESS, app.draining);
  const description = createDescription({
    routes: () => routes,
    publicUrl: config.PUBLIC_URL ?? null,
    webhooks: webhookSection(),
  });
  const routes: RouteDefinition[] = [
    ...createHealthRoutes(readiness),
    ...createOpenApiRoutes(description),
    ...createFeatureRoutes({ ...features, description }),
    ...createConsoleRoutes({ ownOrigin: features.ownOrigin, folder: server.consoleFolder }),
    ...extraRoutes,
  ];
  return routes;
}

function answersOf(deps: AppDeps): RequestListener {
  const answer = createApp(deps).callback();
  return (request, response) => void answer(request, response);
}

function limitConnections(config: Config, log: Logger): ConnectionLimits {
  return createConnectionLimits({
    max: config.MAX_CONNECTIONS,
    maxPerAddress: config.MAX_CONNECTIONS_PER_ADDRESS,
    proxies: config.TRUSTED_PROXIES,
    report: (facts) => log.warn(facts, 'connections refused: too many are busy'),
  });
}

/**
 * Serves `/metrics` on the port for operators. If several processes on one host have the default port, only the first
 * serves metrics.
 * @returns null if OPS_PORT is not set and the default port is taken
 */
async function serveOperators(config: Config, deps: AppDeps): Promise<Listening | null> {
  const port = opsPortOf('api', config);
  try {
    return await listen(answersOf(deps), config.OPS_HOST, port);
  } catch (error) {
    const isDefault = config.OPS_PORT === undefined;
    if (!isDefault || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    deps.log.info({ port }, 'metrics not served: the port is taken; set OPS_PORT');
    return null;
  }
}

/**
 * Builds the HTTP API and serves it, and `/metrics` on the port for operators.
 * @throws the system's error if a port is taken
 */
export async function startApi(server: ApiServerDeps): Promise<ApiServer> {
  const { config } = server;
  const started: Started = [];
  let draining = false;
  try {
    const shared = createShared(server, started);
    const app = { ...shared.app, draining: () => draining };
    const routes = listRoutes(server, shared.features, app);
    const operators = await serveOperators(config, { ...app, routes: [metricsRoute(app.metrics)] });
    if (operators) started.push(() => operators.stop(config.SHUTDOWN_GRACE_SECONDS));
    const limits = limitConnections(config, server.log);
    const answer = answersOf({ ...app, routes });
    shared.features.innerRequests.connect(answer);
    const api = await listen(answer, config.HOST, config.PORT, limits);
    started.push(() => api.stop(config.SHUTDOWN_GRACE_SECONDS));
    return {
      port: api.port,
      opsPort: operators?.port ?? null,
      routes,
      async stop() {
        draining = true;
        await stopAll(started);
      },
    };
  } catch (error) {
    await stopAll(started);
    throw error;
  }
}

/**
 * The `api` role: the HTTP API, and in development the mailbox. It waits for the database.
 * @throws ConfigError without `DATABASE_URL` and `APP_SECRET`, or if the database does not know `APP_SECRET`; the system's error if the port is taken
 */
export async function run(config: Config): Promise<{ stop(): Promise<void> }> {
  const { DATABASE_URL } = requireSettings(config, 'DATABASE_URL', 'APP_SECRET');
  const log = createLogger(config, 'api');
  const poolMax = config.DATABASE_POOL ?? DEFAULT_POOL;
  const options = {
    url: DATABASE_URL,
    directUrl: config.DATABASE_DIRECT_URL,
    serverChanges: createServerChanges(),
    poolMax,
    applicationName: 'carillon api',
  };
  const started: Started = [];
  try {
    const database = openDatabase(options);
    started.push(() => database.close());
    const whenAvailable = createDatabaseWait(DATABASE_URL, log);
    await whenAvailable(() =>
      checkServer(database.pool, poolMax + RECORDING_POOL + HEAVY_READ_CONNECTIONS, (facts, message) =>
        log.warn(facts, message),
      ),
    );
    const keyring = await whenAvailable(() => openKeyring(database.pool, config, upkeep));
    const live = await whenAvailable(() => registerProcess(options, 'api', upkeep.processWork, log));
    started.push(() => live.close());
    const server = await startApi({ config, database, keyring, log, serverChanges: options.serverChanges });
    started.push(() => server.stop());
    if (config.CARILLON_DEV && config.MAILBOX_TOKEN !== undefined) {
      const mailbox = await startMailbox({ config, database, token: config.MAILBOX_TOKEN, log });
      started.push(() => mailbox.stop());
    }
    const { port, opsPort } = server;
    log.info({ host: config.HOST, port, ops_host: config.OPS_HOST, ops_port: opsPort }, 'api listens');
  } catch (error) {
    await stopAll(started);
    throw error;
  }
  return {
    async stop() {
      await stopAll(started);
      log.info('api stopped');
    },
  };
}
