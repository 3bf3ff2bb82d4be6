import type pg from 'pg';
import type { Logger } from 'pino';
import { type Config, ConfigError, requireSettings } from '../config.ts';
import type { TlsPair } from '../delivery/wire/listening/tls-files.ts';
import { startSubmissionListener, type SubmissionListener } from '../delivery/wire/submission/listener.ts';
import type { Submit } from '../delivery/wire/submission/port.ts';
import { createContentEngine } from '../delivery/content/templates/engine.ts';
import { submissionPorts } from '../features/submission/schema.ts';
import { openSubmission } from '../features/submission/service.ts';
import { upkeep } from '../features/upkeep.ts';
import { createLogger } from '../log.ts';
import { createFindKey } from '../platform/auth/find-key.ts';
import { createKeyLookup } from '../platform/auth/key-lookup.ts';
import { createLastUses } from '../platform/auth/last-use.ts';
import { createDatabaseWait } from '../platform/db/availability.ts';
import { checkServer, createServerChanges, openDatabase } from '../platform/db/database.ts';
import { createWaker } from '../platform/db/wake.ts';
import { serveMetrics } from '../platform/http/operators.ts';
import { createRateLeases } from '../platform/http/rate-leases.ts';
import { burstOf, createRequestLimiter } from '../platform/http/rate-limiter.ts';
import { createFleetShare } from '../platform/processes/fleet.ts';
import { registerProcess } from '../platform/processes/process.ts';
import { createTokenBuckets } from '../platform/processes/token-buckets.ts';
import { peersOf } from '../platform/processes/wake-peers.ts';
import type { BlobStore } from '../platform/storage/blob-store.ts';
import { createHomeStore } from '../platform/storage/local-disk.ts';
import { openRoleKeyring } from './keyring.ts';
import { REQUEST_ROLES } from './names.ts';
import { openTlsSettings } from './tls-settings.ts';

/** Groups of messages are written by two connections; keys are looked up, and mails read what they name. */
const POOL = 10;

/** They render the templates that mails name. */
const CONTENT_THREADS = 1;

interface ListenerDeps {
  pool: pg.Pool;
  store: BlobStore;
  submit: Submit;
  log: Logger;
}

/** The role's certificate; that of the mail role by default. */
async function openCertificate(config: Config) {
  const files = (await openTlsSettings(config, 'SUBMISSION')) ?? (await openTlsSettings(config, 'MAIL'));
  // Without one, no program could log in.
  if (files === null && !config.CARILLON_DEV)
    throw new ConfigError('set SUBMISSION_TLS_CERT_FILE and SUBMISSION_TLS_KEY_FILE: logins need TLS');
  return files;
}

/** Starts to count what API keys do, as the API does, and to take mail. */
async function startListener(config: Config, tls: TlsPair | null, deps: ListenerDeps) {
  const { pool, log } = deps;
  const keyUses = createLastUses(pool, ['api_keys', 'send_keys'], log);
  const fleet = createFleetShare(pool, log, REQUEST_ROLES);
  const { request } = createRequestLimiter(
    () => fleet.processes(),
    createTokenBuckets(),
    createRateLeases(pool),
  );
  const listener: SubmissionListener = await startSubmissionListener({
    ...deps,
    host: config.SUBMISSION_LISTEN_HOST,
    ...submissionPorts(config, tls !== null),
    tls,
    trustedProxies: config.SUBMISSION_TRUSTED_PROXIES,
    clearLogins: config.CARILLON_DEV,
    mailDomain: config.MAIL_DOMAIN,
    findKey: createFindKey({ keys: createKeyLookup(pool), keyUses }),
    limits: { request, burstOf },
    ratePerKey: config.RATE_LIMIT_PER_KEY,
    maxBytes: config.SUBMISSION_MAX_MB * 1024 * 1024,
    connections: config.SUBMISSION_CONNECTIONS,
    connectionsPerNetwork: config.SUBMISSION_CONNECTIONS_PER_NETWORK,
    graceMs: config.SHUTDOWN_GRACE_SECONDS * 1_000,
  });
  return {
    ...listener,
    async stop() {
      await listener.stop();
      fleet.stop();
      await keyUses.stop();
    },
  };
}

/**
 * The `submission` role: takes mail by SMTP from programs that log in with an API key, and accepts it as the API accepts
 * messages. It waits for the database. If the database becomes unavailable later, programs are asked to try again.
 * @throws ConfigError without DATABASE_URL and APP_SECRET, without a certificate, or if the database does not know
 *   APP_SECRET; the system's error if a port is taken
 */
export async function run(config: Config): Promise<{ stop(): Promise<void> }> {
  const { DATABASE_URL } = requireSettings(config, 'DATABASE_URL', 'APP_SECRET');
  const log = createLogger(config, 'submission');
  const tls = await openCertificate(config);
  const options = {
    url: DATABASE_URL,
    directUrl: config.DATABASE_DIRECT_URL,
    serverChanges: createServerChanges(),
    poolMax: config.DATABASE_POOL ?? POOL,
    applicationName: 'carillon submission',
    keyedPlans: true,
  };
  const database = openDatabase(options);
  const whenAvailable = createDatabaseWait(DATABASE_URL, log);
  await whenAvailable(() =>
    checkServer(database.pool, options.poolMax, (facts, message) => log.warn(facts, message)),
  );
  const keyring = await openRoleKeyring(database, config, whenAvailable);
  const live = await whenAvailable(() => registerProcess(options, 'submission', upkeep.processWork, log));
  const waker = createWaker(options, peersOf({ config, db: database.pool, log }));
  const contents = createContentEngine({ threads: CONTENT_THREADS });
  const submission = openSubmission({ config, database, keyring, contents, waker, log });
  const listener = await startListener(config, tls?.pair ?? null, {
    pool: database.pool,
    store: createHomeStore(config.CARILLON_HOME),
    submit: submission.submit,
    log,
  });
  const unwatchTls = tls?.watch((pair) => listener.useTls(pair), log);
  const metrics = await serveMetrics('submission', {
    config,
    pool: database.pool,
    log,
    sources: listener.figures,
  });
  const { ports, tlsPorts } = listener;
  log.info({ host: config.SUBMISSION_LISTEN_HOST, ports, tls_ports: tlsPorts }, 'submission listens');
  return {
    async stop() {
      unwatchTls?.();
      await metrics?.stop();
      await listener.stop();
      await submission.close();
      await contents.close();
      await live.close();
      await waker.close();
      await database.close();
      log.info('submission stopped');
    },
  };
}
