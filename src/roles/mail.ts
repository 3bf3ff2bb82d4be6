import type pg from 'pg';
import type { Logger } from 'pino';
import { type Config, requireSettings } from '../config.ts';
import { type MailListener, startMailListener } from '../delivery/wire/inbound/listener.ts';
import { keepOperatorMail } from '../delivery/wire/inbound/operator-mails.ts';
import type { TlsPair } from '../delivery/wire/listening/tls-files.ts';
import { mailKeys } from '../delivery/wire/inbound/recipients.ts';
import { factsOfCopies } from '../delivery/wire/inbound/letter-complaints.ts';
import { createReportRecording } from '../delivery/wire/inbound/record-reports.ts';
import { systemSender } from '../delivery/terms/sender-identity.ts';
import { createRecipientFence } from '../delivery/ledger/consent/recipient-fence.ts';
import { createTrackedEventConsumers, eventConsumers } from '../features/events.ts';
import { startInboundLoop } from '../features/inbox/arrival/loop.ts';
import { resolveInboxAddress } from '../features/inbox/inboxes/resolve.ts';
import { createMailReader } from '../features/inbox/mail/reader.ts';
import { createMailAcceptance } from '../features/inbox/receive/accept.ts';
import { startFileRemoval } from '../features/inbox/retention/remove-files.ts';
import { startStorageNotices } from '../features/inbox/retention/storage-notices.ts';
import { upkeep } from '../features/upkeep.ts';
import { createLogger } from '../log.ts';
import { createDatabaseWait } from '../platform/db/availability.ts';
import { createServerChanges, openDatabase, checkServer } from '../platform/db/database.ts';
import { peersOf } from '../platform/processes/wake-peers.ts';
import { createWaker, type Waker } from '../platform/db/wake.ts';
import { createEventPublisher, type EventPublisher } from '../platform/events/publish.ts';
import { serveMetrics } from '../platform/http/operators.ts';
import { registerProcess } from '../platform/processes/process.ts';
import type { Keyring } from '../platform/secrets/keyring.ts';
import type { BlobStore } from '../platform/storage/blob-store.ts';
import { createHomeStore } from '../platform/storage/local-disk.ts';
import { openRoleKeyring } from './keyring.ts';
import { openTlsSettings } from './tls-settings.ts';

/**
 * Reports that arrive together are recorded in one transaction, and so are accepted mails, and mails that were read. Two
 * transactions of each run at a time. Recipients are looked up, too.
 */
const POOL = 10;

interface MailDeps {
  pool: pg.Pool;
  store: BlobStore;
  waker: Waker;
  events: EventPublisher;
  keyring: Keyring;
  log: Logger;
}

/** What the mail of one account may store, in bytes. */
const quotaOf = ({ INBOX_QUOTA_MB }: Config): number => INBOX_QUOTA_MB * 1024 * 1024;

/** Starts to take mail by SMTP. */
function startListener(
  config: Config,
  tls: TlsPair | null,
  { pool, store, waker, events, keyring, log }: MailDeps,
): Promise<MailListener> {
  return startMailListener({
    host: config.MAIL_LISTEN_HOST,
    port: config.MAIL_PORT,
    mailDomain: config.MAIL_DOMAIN,
    keys: mailKeys(keyring),
    record: createReportRecording({ pool, waker, events, fence: createRecipientFence(pool) }),
    factsOfCopies: (facts) => factsOfCopies(pool, facts),
    keep: (mail) => keepOperatorMail(pool, mail),
    inboxes: createMailAcceptance({
      pool,
      store,
      waker,
      resolve: (address) => resolveInboxAddress(pool, address, config.MAIL_DOMAIN),
      quotaBytes: quotaOf(config),
      log,
    }),
    tls,
    trustedProxies: config.MAIL_TRUSTED_PROXIES,
    limits: {
      senderPerMinute: config.INBOX_SENDER_PER_MINUTE,
      networkPerMinute: config.INBOX_NETWORK_PER_MINUTE,
    },
    graceMs: config.SHUTDOWN_GRACE_SECONDS * 1_000,
    log,
  });
}

/** Starts to read the mail to inboxes that any process has accepted. */
function startReading(config: Config, deps: MailDeps): { stop(): Promise<void> } {
  const { waker, log } = deps;
  const { CARILLON_HOME: home, DNS_SERVERS: dnsServers, RSPAMD_URL: rspamdUrl } = config;
  const reader = createMailReader({ home, dnsServers, rspamdUrl, log });
  const loop = startInboundLoop({
    ...deps,
    reader,
    plusAddresses: config.SUPPRESS_PLUS_ADDRESSES,
    consumers: createTrackedEventConsumers({ waker }),
    hasScanner: config.CLAMD_URL !== undefined,
    quotaBytes: quotaOf(config),
  });
  return {
    async stop() {
      await loop.stop();
      await reader.close();
    },
  };
}

/**
 * The `mail` role: takes bounces, complaints and mail to inboxes by SMTP, and reads the mail to inboxes. It waits for the
 * database. If the database becomes unavailable later, servers are asked to try again.
 * @throws ConfigError without DATABASE_URL and APP_SECRET, or if the database does not know APP_SECRET; the system's error if the port is taken
 */
export async function run(config: Config): Promise<{ stop(): Promise<void> }> {
  const { DATABASE_URL } = requireSettings(config, 'DATABASE_URL', 'APP_SECRET');
  const log = createLogger(config, 'mail');
  const tls = await openTlsSettings(config, 'MAIL');
  const options = {
    url: DATABASE_URL,
    directUrl: config.DATABASE_DIRECT_URL,
    serverChanges: createServerChanges(),
    poolMax: config.DATABASE_POOL ?? POOL,
    applicationName: 'carillon mail',
    keyedPlans: true,
  };
  const database = openDatabase(options);
  const whenAvailable = createDatabaseWait(DATABASE_URL, log);
  await whenAvailable(() =>
    checkServer(database.pool, options.poolMax, (facts, message) => log.warn(facts, message)),
  );
  const keyring = await openRoleKeyring(database, config, whenAvailable);
  const live = await whenAvailable(() => registerProcess(options, 'mail', upkeep.processWork, log));
  const deps = {
    pool: database.pool,
    store: createHomeStore(config.CARILLON_HOME),
    waker: createWaker(options, peersOf({ config, db: database.pool, log })),
    events: createEventPublisher(eventConsumers),
    keyring,
    log,
  };
  const listener = await startListener(config, tls?.pair ?? null, deps);
  const unwatchTls = tls?.watch((pair) => listener.useTls(pair), log);
  const reading = startReading(config, deps);
  const fileRemoval = startFileRemoval(deps);
  const notices = startStorageNotices({
    ...deps,
    systemFrom: systemSender(config),
    quotaBytes: quotaOf(config),
  });
  const metrics = await serveMetrics('mail', { config, pool: database.pool, log });
  log.info({ host: config.MAIL_LISTEN_HOST, port: listener.port, starttls: tls !== null }, 'mail listens');
  return {
    async stop() {
      unwatchTls?.();
      await metrics?.stop();
      await listener.stop();
      await reading.stop();
      await fileRemoval.stop();
      await notices.stop();
      await live.close();
      await deps.waker.close();
      await database.close();
      log.info('mail stopped');
    },
  };
}
