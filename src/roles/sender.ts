import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { createLaneActivities } from '../../activities/lanes.ts';
import { type Config, requireSettings } from '../config.ts';
import { channels } from '../delivery/terms/channels/index.ts';
import { type ChannelSettings, createDefaultChannel } from '../delivery/sender/channels/sending.ts';
import type { ContentEngine } from '../delivery/content/templates/content.ts';
import { createContentEngine } from '../delivery/content/templates/engine.ts';
import { createSharedValues } from '../delivery/sender/compose/shared-values.ts';
import { createVersionReader } from '../delivery/content/templates/versions.ts';
import { createSendingDomains } from '../delivery/content/dkim/domain-signers.ts';
import { ensureSigningKeys, loadSigningKeys } from '../delivery/content/dkim/keys.ts';
import { createDkimSigner, type DkimSigner } from '../delivery/content/dkim/sign.ts';
import { limitSettings } from '../delivery/ledger/limits/authority.ts';
import { createOptOutRecording, type OptOutRecording } from '../delivery/ledger/consent/refused-opt-outs.ts';
import { signsMessages } from '../delivery/wire/providers/settings-url.ts';
import type { ProviderChannel } from '../delivery/sender/compose/provider-channel.ts';
import { createFailOver } from '../delivery/sender/failover/fail-over.ts';
import { createSender } from '../delivery/sender/loop/loop.ts';
import type { ContentSources } from '../delivery/sender/compose/version-groups.ts';
import { createNamedChannels, type NamedChannels } from '../delivery/sender/channels/named-channel.ts';
import { createFollowProviders } from '../delivery/sender/loop/named-shares.ts';
import { recordRefusedInLedger, recordRefusedOptOut } from '../features/contacts/service.ts';
import { eventConsumers } from '../features/events.ts';
import { brandValues, createBrandOf } from '../features/templates/brand-parts.ts';
import { createLinkTracker } from '../features/tracking/links.ts';
import { createTrackingTokens } from '../features/tracking/tokens.ts';
import { createRecipientPages } from '../features/unsubscribe/service.ts';
import { upkeep } from '../features/upkeep.ts';
import { WEBHOOK_USER_AGENT } from '../features/webhooks/attempts/attempt.ts';
import { createWebhookLoop } from '../features/webhooks/loop/loop.ts';
import { createLogger } from '../log.ts';
import { createServerChanges, checkServer, type Database, openDatabase } from '../platform/db/database.ts';
import { keepPartitionsOf } from '../platform/db/partitions.ts';
import { createDatabaseWait } from '../platform/db/availability.ts';
import { inTransaction } from '../platform/db/queryable.ts';
import { peersOf } from '../platform/processes/wake-peers.ts';
import { createWaker, type Waker } from '../platform/db/wake.ts';
import { createResolver, type Resolver } from '../platform/dns/resolver.ts';
import { createEgress, type Egress } from '../platform/egress/client.ts';
import { createEventPublisher } from '../platform/events/publish.ts';
import { serveMetrics } from '../platform/http/operators.ts';
import { attachSender } from '../platform/lanes/attach.ts';
import { registerProcess } from '../platform/processes/process.ts';
import { createPulse, type Pulse } from '../platform/processes/pulse.ts';
import { startReaper } from '../platform/processes/reaper.ts';
import type { QueueLoop } from '../platform/queue/loop.ts';
import type { Keyring } from '../platform/secrets/keyring.ts';
import { createHomeStore } from '../platform/storage/local-disk.ts';
import { senderFigures } from './figures.ts';
import { openRoleKeyring } from './keyring.ts';
import { openLetters } from './letter-folder.ts';

/**
 * Size of the pool. With those outside it a sender has twelve connections to the database, however many it has to the
 * provider: statements are short and cover many messages, so more connections would only wait for each other in the
 * database.
 */
const POOL = 10;

/**
 * Number of threads that render contents with tags. A thread starts with the first such content; an account uses one at
 * a time.
 */
const CONTENT_THREADS = 2;
/** Maximum number of batches of one account that wait for a thread, and how long they wait: the queue can wait. */
const MAX_WAITING_BATCHES = 1_000;
const MAX_WAIT_MS = 5 * 60_000;

/** User-Agent of requests to the APIs of providers. */
const PROVIDER_USER_AGENT = 'Carillon/1';

async function loadSigners(
  config: Config,
  database: Database,
  keyring: Keyring,
): Promise<readonly DkimSigner[]> {
  if (!signsMessages(config)) return [];
  const deps = { db: database.pool, keyring };
  await ensureSigningKeys(deps, config.MAIL_DOMAIN);
  return (await loadSigningKeys(deps, config.MAIL_DOMAIN)).map(createDkimSigner);
}

/**
 * Messages from a domain are signed with its own keys.
 * @param signsDomains false: the relay signs
 */
function createSignersFor(
  config: Config,
  own: readonly DkimSigner[],
  signsDomains: boolean,
): ChannelSettings['signersFor'] {
  return (domain, sending) => {
    if (sending) return signsDomains ? sending.signers : [];
    return domain === config.MAIL_DOMAIN.toLowerCase() ? own : [];
  };
}

interface ChannelDeps {
  config: Config;
  database: Database;
  keyring: Keyring;
  resolver: Resolver;
  egress: Egress;
  log: Logger;
  /** Signers of the service's own domain. */
  signers: readonly DkimSigner[];
}

interface Channels {
  /** The channels of the providers in the settings. */
  defaults: ProviderChannel[];
  named: NamedChannels;
  /** Records the opt-outs of recipients whom named providers refuse. */
  optOuts: OptOutRecording;
  /** Renders the contents of campaigns. */
  engine: ContentEngine;
}

/** The sources of messages whose rendered content is not stored. */
function openContents(
  { config, database: { pool }, keyring }: ChannelDeps,
  engine: ContentEngine,
): ContentSources {
  const publicUrl = config.PUBLIC_URL ?? null;
  const brandOf = createBrandOf(pool, keyring, publicUrl);
  return {
    versions: createVersionReader(pool),
    shared: createSharedValues(pool, async (scope) => brandValues(await brandOf(scope))),
    engine,
    pages: createRecipientPages(keyring, publicUrl),
  };
}

function openChannels(given: ChannelDeps): Channels {
  const { config, database, keyring, resolver, egress, signers, log } = given;
  const optOuts = recordOptOuts(database, keyring, log);
  const deps = { config, pool: database.pool, resolver };
  const engine = createContentEngine({
    threads: CONTENT_THREADS,
    maxWaiting: MAX_WAITING_BATCHES,
    waitMs: MAX_WAIT_MS,
  });
  const settings: ChannelSettings = {
    mailDomain: config.MAIL_DOMAIN,
    returnPathKey: keyring.subkey('return-path').key,
    referenceKey: keyring.subkey('reference').key,
    links: createLinkTracker(createTrackingTokens(keyring)),
    contents: openContents(given, engine),
    domains: createSendingDomains(database.pool, keyring),
    signersFor: createSignersFor(config, signers, signsMessages(config)),
    letterFiles: createHomeStore(config.CARILLON_HOME),
  };
  return {
    optOuts,
    engine,
    defaults: channels.map((channel) => createDefaultChannel(channel, deps, settings)),
    named: createNamedChannels({
      keyring,
      providers: { ...deps, egress },
      settings: { ...settings, signersFor: createSignersFor(config, signers, true) },
      optOut: (message) => optOuts.add(message),
    }),
  };
}

/** Writes the ledger first: it counts at once, while the contact's column may wait for the brand's consent lock. */
function recordOptOuts({ pool }: Database, keyring: Keyring, log: Logger): OptOutRecording {
  return createOptOutRecording(async (refused) => {
    await inTransaction(pool, (trx) => recordRefusedInLedger(trx, keyring, [refused]));
    await inTransaction(pool, (trx) => recordRefusedOptOut(trx, keyring, refused));
  }, log);
}

function openSender(
  config: Config,
  database: Database,
  waker: Waker,
  { defaults, named }: Channels,
  rest: Pick<
    Parameters<typeof createSender>[0],
    'process' | 'pulse' | 'keyring' | 'events' | 'log' | 'letters'
  >,
): QueueLoop {
  const { pool } = database;
  const { pulse, log } = rest;
  const failOver = createFailOver({ pool, waker, log });
  const followProviders = createFollowProviders({ pool, open: named.open, failOver, pulse, log });
  return createSender({
    pool,
    waker,
    channels: defaults,
    followProviders,
    limits: limitSettings(config),
    ...rest,
  });
}

/** Makes partitions at the start, in case housekeeping, which does it hourly, has not run for two weeks. */
async function makePartitions({ pool }: Database, log: Logger): Promise<void> {
  try {
    await keepPartitionsOf(pool, upkeep.partitions);
  } catch (error) {
    log.warn({ err: error }, 'cannot make the partitions of the days ahead yet');
  }
}

/** Lets the engine show and steer the loops. */
function attachLanes(deps: Omit<Parameters<typeof attachSender>[0], 'createActivities'> & { pulse: Pulse }) {
  const { database, loops, pulse, log } = deps;
  return attachSender({
    ...deps,
    createActivities: (own) => createLaneActivities({ database, loops, pulse, log, own }),
  });
}

/** A stop that takes longer is explained in the log. */
const EXPLAIN_AFTER_MS = 2_000;

/**
 * Stops the loops, and explains in the log what it waits for.
 * @returns false if messages are open after the grace time. Their intents stay, so another sender recovers them as those
 *   of a dead process.
 */
async function finishWithin(
  graceSeconds: number,
  loops: readonly QueueLoop[],
  log: Logger,
): Promise<boolean> {
  const open = () => loops.reduce((sum, loop) => sum + loop.report().inFlight, 0);
  const explain = setTimeout(() => {
    const facts = { open: open(), at_most_seconds: graceSeconds };
    log.info(
      facts,
      'stopping: waiting for replies; a second signal ends the wait and leaves their outcomes unknown',
    );
  }, EXPLAIN_AFTER_MS);
  const limit = new AbortController();
  const late = sleep(graceSeconds * 1_000, false, { signal: limit.signal }).catch(() => false);
  const stopped = Promise.all(loops.map((loop) => loop.stop())).then(() => true);
  const finished = await Promise.race([stopped, late]);
  clearTimeout(explain);
  limit.abort();
  if (!finished) log.warn({ open: open() }, 'stopped without replies: their outcomes are unknown');
  return finished;
}

/**
 * The `sender` role: the send loop and the webhook loop, their lanes in the workflow engine (which may be down), and
 * the reaper of dead processes. It waits for the database.
 * @throws ConfigError without DATABASE_URL, APP_SECRET and EMAIL_PROVIDER_URL, or if the database does not know APP_SECRET
 */
export async function run(config: Config): Promise<{ stop(): Promise<void> }> {
  const { DATABASE_URL } = requireSettings(config, 'DATABASE_URL', 'APP_SECRET');
  const log = createLogger(config, 'sender');
  const poolMax = config.DATABASE_POOL ?? POOL;
  const options = {
    url: DATABASE_URL,
    directUrl: config.DATABASE_DIRECT_URL,
    serverChanges: createServerChanges(),
    poolMax,
    applicationName: 'carillon sender',
    keyedPlans: true,
  };
  const database = openDatabase(options);
  const whenAvailable = createDatabaseWait(DATABASE_URL, log);
  await whenAvailable(() =>
    checkServer(database.pool, options.poolMax, (facts, message) => log.warn(facts, message)),
  );
  const keyring = await openRoleKeyring(database, config, whenAvailable);
  const resolver = createResolver(config.DNS_SERVERS);
  const signers = await whenAvailable(() => loadSigners(config, database, keyring));
  const egress = createEgress({ resolver, allow: config.EGRESS_ALLOW, userAgent: WEBHOOK_USER_AGENT });
  const apis = createEgress({ resolver, allow: config.EGRESS_ALLOW, userAgent: PROVIDER_USER_AGENT });
  const channels = openChannels({ config, database, keyring, resolver, egress: apis, signers, log });
  const process = await whenAvailable(() => registerProcess(options, 'sender', upkeep.processWork, log));
  const waker = createWaker(options, peersOf({ config, db: database.pool, log }));
  const pulse = createPulse({ db: database.pool, log, self: () => process.id() });
  const events = createEventPublisher(eventConsumers);
  const shared = { process, pulse, keyring, events, log };
  const letters = openLetters(config, database.pool, log);
  const sender = openSender(config, database, waker, channels, { ...shared, letters });
  const webhooks = createWebhookLoop({ ...shared, config, database, egress, waker });
  const loops = [sender, webhooks];
  const lanes = await whenAvailable(() => attachLanes({ config, database, loops, pulse, log }));
  const reaper = startReaper({ pool: database.pool, process, work: upkeep.processWork, waker, pulse, log });
  void makePartitions(database, log);
  sender.start();
  webhooks.start();
  const { pool } = database;
  const metrics = await serveMetrics('sender', { config, pool, log, sources: senderFigures(loops) });
  log.info(
    { provider: channels.defaults.map(({ channel, provider }) => `${channel}:${provider}`) },
    'sender started',
  );
  return {
    async stop() {
      const finished = finishWithin(config.SENDER_GRACE_SECONDS, loops, log);
      await Promise.all([metrics?.stop(), lanes.stop()]);
      // The heartbeat, the reaper and the pool are needed until then.
      if (!(await finished)) return process.close();
      await Promise.all([channels.named.close(), channels.engine.close(), letters.stop()]);
      await channels.optOuts.settled();
      await apis.close();
      await reaper.stop();
      await pulse.stop();
      await process.close();
      await waker.close();
      await database.close();
      log.info('sender stopped');
    },
  };
}
