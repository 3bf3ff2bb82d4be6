import { readFile } from 'node:fs/promises';
import { type Config, ConfigError, requireSettings } from '../config.ts';
import { type MailListenerOptions, startMailListener } from '../delivery/inbound/listener.ts';
import { keepOperatorMail } from '../delivery/inbound/operator-mails.ts';
import { mailKeys } from '../delivery/inbound/recipients.ts';
import { createReportRecording } from '../delivery/inbound/record-reports.ts';
import { createRecipientFence } from '../delivery/consent/recipient-fence.ts';
import { eventConsumers } from '../features/events.ts';
import { resolveInboxAddress } from '../features/inbox/inboxes/resolve.ts';
import { createMailAcceptance } from '../features/inbox/receive/accept.ts';
import { startFileRemoval } from '../features/inbox/retention/remove-files.ts';
import { upkeep } from '../features/upkeep.ts';
import { createLogger } from '../log.ts';
import { createDatabaseWait } from '../platform/db/availability.ts';
import { createServerChanges, openDatabase, checkServer } from '../platform/db/database.ts';
import { createWaker } from '../platform/db/wake.ts';
import { createEventPublisher } from '../platform/events/publish.ts';
import { serveMetrics } from '../platform/http/operators.ts';
import { registerProcess } from '../platform/processes/process.ts';
import { createKeyring } from '../platform/secrets/keyring.ts';
import { createHomeStore } from '../platform/storage/local-disk.ts';

/** Reports, and mails to inboxes, that arrive together are one transaction each; two of each run at a time. */
const POOL = 6;

async function readPem(setting: 'MAIL_TLS_CERT_FILE' | 'MAIL_TLS_KEY_FILE', file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new ConfigError(`${setting} cannot be read: ${(error as Error).message}`);
  }
}

async function readTls(config: Config): Promise<MailListenerOptions['tls']> {
  const { MAIL_TLS_CERT_FILE: cert, MAIL_TLS_KEY_FILE: key } = config;
  if (cert === undefined && key === undefined) return null;
  if (cert === undefined || key === undefined)
    throw new ConfigError('set both MAIL_TLS_CERT_FILE and MAIL_TLS_KEY_FILE, or neither');
  return {
    cert: await readPem('MAIL_TLS_CERT_FILE', cert),
    key: await readPem('MAIL_TLS_KEY_FILE', key),
  };
}

/**
 * The `mail` role: takes bounces, complaints and mail to inboxes by SMTP. It waits for the database. If the database becomes unavailable
 * later, servers are asked to try again.
 * @throws ConfigError without DATABASE_URL and APP_SECRET; the system's error if the port is taken
 */
export async function run(config: Config): Promise<{ stop(): Promise<void> }> {
  const { DATABASE_URL, APP_SECRET } = requireSettings(config, 'DATABASE_URL', 'APP_SECRET');
  const log = createLogger(config, 'mail');
  const tls = await readTls(config);
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
  const live = await whenAvailable(() => registerProcess(options, 'mail', upkeep.processWork, log));
  const waker = createWaker(options);
  const store = createHomeStore(config.CARILLON_HOME);
  const listener = await startMailListener({
    host: config.MAIL_LISTEN_HOST,
    port: config.MAIL_PORT,
    mailDomain: config.MAIL_DOMAIN,
    keys: mailKeys(createKeyring(APP_SECRET, config.APP_SECRET_PREVIOUS)),
    record: createReportRecording({
      pool: database.pool,
      waker,
      events: createEventPublisher(eventConsumers),
      fence: createRecipientFence(database.pool),
    }),
    keep: (mail) => keepOperatorMail(database.pool, mail),
    inboxes: createMailAcceptance({
      pool: database.pool,
      store,
      waker,
      resolve: (address) => resolveInboxAddress(database.pool, address, config.MAIL_DOMAIN),
      quotaBytes: config.INBOX_QUOTA_MB * 1024 * 1024,
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
  const fileRemoval = startFileRemoval({ pool: database.pool, store, log });
  const metrics = await serveMetrics('mail', { config, pool: database.pool, log });
  log.info({ host: config.MAIL_LISTEN_HOST, port: listener.port, starttls: tls !== null }, 'mail listens');
  return {
    async stop() {
      await metrics?.stop();
      await listener.stop();
      await fileRemoval.stop();
      await live.close();
      await waker.close();
      await database.close();
      log.info('mail stopped');
    },
  };
}
