import type pg from 'pg';
import type { Logger } from 'pino';
import { type ActivityDependencies, createActivities } from '../../activities/index.ts';
import { type Config, requireSettings } from '../config.ts';
import { stopThresholds } from '../delivery/ledger/limits/stop-thresholds.ts';
import { startAttachmentRemoval } from '../features/attachments/removal.ts';
import { startUsageCounts } from '../features/accounts/usage-loop.ts';
import { startBrakes } from '../features/brakes/service.ts';
import { forgetContactInBulkActions } from '../features/bulk-actions/service.ts';
import { createTrackedEventConsumers, eventConsumers } from '../features/events.ts';
import { startOptOutWalk } from '../features/contacts/opt-out-walk.ts';
import { startContactRemoval } from '../features/contacts/removal-work.ts';
import { startListFills } from '../features/campaigns/list-fills.ts';
import {
  CONNECTIONS as EVALUATION_CONNECTIONS,
  openEvaluations,
} from '../features/campaigns/run/evaluations.ts';
import { startFlowEntries } from '../features/flows/entry/loop.ts';
import { startFlowCounts } from '../features/flows/counts-loop.ts';
import { startFlowChanges } from '../features/flows/run/changes.ts';
import { forgetContactInFlows } from '../features/flows/run/removal.ts';
import { startHeaderSealing } from '../features/flows/seal-plain.ts';
import { createFlowVersionReader } from '../features/flows/versions.ts';
import { endExportsOfContact, forgetContactInExports } from '../features/exports/service.ts';
import { forgetContactInInbox } from '../features/inbox/retention/forget.ts';
import { announceScanner } from '../features/inbox/scan/clamd.ts';
import { startListUpkeep } from '../features/lists/loop.ts';
import { forgetImportedContact } from '../features/imports/service.ts';
import { startScheduledTests } from '../features/messages/scheduled-tests.ts';
import { startStatCounts } from '../features/stats/fold.ts';
import { startWallets } from '../features/wallet/loop.ts';
import { openAddressChecker } from '../features/validation/checks/open-checker.ts';
import { forgetValidatedContact } from '../features/validation/service.ts';
import { startTracking } from '../features/tracking/loop.ts';
import { startSecretRemoval } from '../features/system-mail/secrets.ts';
import { startPasswordResets } from '../features/users/reset-loop.ts';
import { upkeep } from '../features/upkeep.ts';
import { createLogger } from '../log.ts';
import { createServerChanges, checkServer, type Database, openDatabase } from '../platform/db/database.ts';
import { createDatabaseWait } from '../platform/db/availability.ts';
import { CONNECTIONS as HEAVY_READ_CONNECTIONS, openHeavyReads } from '../platform/processes/heavy-reads.ts';
import { peersOf } from '../platform/processes/wake-peers.ts';
import { createWaker, type Waker } from '../platform/db/wake.ts';
import { createPulse, type Pulse } from '../platform/processes/pulse.ts';
import { createResolver } from '../platform/dns/resolver.ts';
import { createEgress } from '../platform/egress/client.ts';
import { createEventPublisher, type EventPublisher } from '../platform/events/publish.ts';
import { serveMetrics } from '../platform/http/operators.ts';
import { claimFolder, type FolderOwner } from '../platform/housekeeping/orphaned-files.ts';
import { ensureHousekeepingSchedule } from '../platform/housekeeping/schedule.ts';
import { ensureLanes } from '../platform/lanes/ensure.ts';
import { createDispatcher } from '../platform/outbox/dispatcher.ts';
import { createReconciler } from '../platform/outbox/reconciler.ts';
import { registerProcess } from '../platform/processes/process.ts';
import type { Keyring } from '../platform/secrets/keyring.ts';
import type { BlobStore } from '../platform/storage/blob-store.ts';
import { createHomeStore } from '../platform/storage/local-disk.ts';
import { bundleWorkflows } from '../platform/temporal/bundle.ts';
import { type Engine, openEngine } from '../platform/temporal/connection.ts';
import { type TaskQueue, taskQueues } from '../platform/temporal/contract.ts';
import { createPreparation, ensureSearchAttributes } from '../platform/temporal/prepare.ts';
import { keepWorking, type KeptWorkers, type WorkerTask } from '../platform/temporal/worker.ts';
import { workerFigures } from './figures.ts';
import { openRoleKeyring } from './keyring.ts';

/** Eight transactions of single runs and four of cohorts at once; the rest of the process needs some, too. */
const POOL = 16;
const TRACKING_USER_AGENT = 'Carillon-Tracking/1';
/**
 * Concurrent activities of the bulk queue. Nearly all of them wait for an endpoint that does not answer or for the next
 * retry (at most 5 s), and their statements are short, so the pool's few connections are enough. With a lower limit,
 * a hundred failing endpoints would make the others wait.
 */
const BULK_ACTIVITIES = 1_000;
/** Maximum number of concurrent requests of webhook steps. Each account and each host gets a small part of them. */
const CALL_ACTIVITIES = 500;
/**
 * Maximum number of flow runs that advance or wait for their turn. It exceeds the number of concurrent workflow tasks,
 * so that the turns decide whose transactions go first; see `advance-turns.ts`.
 */
const LOCAL_ACTIVITIES = 100;
/** Maximum number of cohorts that advance or wait for their turn. */
const COHORT_ACTIVITIES = 100;
/** After this time another worker takes over the workflows of a killed one. */
const STICKY_TIMEOUT = '5s';
/** By default the library sends a heartbeat only after 0.8 of the heartbeat time-out. */
const heartbeats = { maxHeartbeatThrottleInterval: '1s', defaultHeartbeatThrottleInterval: '1s' } as const;

/** Returns the options of a worker that serves a queue of workflows and runs their local activities. */
async function servesWorkflows(taskQueue: TaskQueue, activities: object): Promise<WorkerTask> {
  return {
    taskQueue,
    workflowBundle: await bundleWorkflows(),
    activities,
    maxConcurrentLocalActivityExecutions: LOCAL_ACTIVITIES,
    stickyQueueScheduleToStartTimeout: STICKY_TIMEOUT,
    ...heartbeats,
  };
}

function startWorkers(deps: ActivityDependencies): KeptWorkers {
  const activities = createActivities(deps);
  return keepWorking({
    config: deps.config,
    log: deps.log,
    tasks: async () => [
      // Also for flow runs that began before they had a queue of their own.
      await servesWorkflows(taskQueues.orchestration, activities),
      { ...(await servesWorkflows(taskQueues.flows, activities)), enableNonLocalActivities: false },
      {
        ...(await servesWorkflows(taskQueues.cohorts, activities)),
        maxConcurrentActivityTaskExecutions: COHORT_ACTIVITIES,
      },
      {
        taskQueue: taskQueues.bulk,
        activities,
        maxConcurrentActivityTaskExecutions: BULK_ACTIVITIES,
        ...heartbeats,
      },
      {
        taskQueue: taskQueues.calls,
        activities,
        maxConcurrentActivityTaskExecutions: CALL_ACTIVITIES,
        ...heartbeats,
      },
    ],
  });
}

/** What the loops of the worker share. */
interface LoopDeps {
  database: Database;
  waker: Waker;
  pulse: Pulse;
  log: Logger;
}

/** The dispatcher of the outbox, the reconciler, and the preparation of an engine that is new or lost its data. */
function startEngineSync(engine: Engine, { database, waker, pulse, log }: LoopDeps) {
  const preparation = createPreparation({
    engine,
    steps: [
      () => ensureSearchAttributes(engine, log),
      () => ensureHousekeepingSchedule(engine),
      async ({ isNew }) => {
        if (isNew) await ensureLanes(engine.client, database, { force: true });
      },
    ],
    log,
  });
  const shared = { database, client: engine.client, log };
  const dispatcher = createDispatcher({ ...shared, waker, pulse, onRefused: () => preparation.wake() });
  const reconciler = createReconciler({
    ...shared,
    namespaceId: () => engine.namespaceId(),
    sources: upkeep.expectedWorkflows,
    prepare: () => preparation.prepare(),
  });
  return { stop: () => Promise.all([dispatcher.stop(), reconciler.stop(), preparation.stop()]) };
}

/** Continues what requests about lists and contacts have begun. */
function startAudienceWork(config: Config, keyring: Keyring, { database: { pool }, pulse, log }: LoopDeps) {
  const plusAddresses = config.SUPPRESS_PLUS_ADDRESSES;
  const repeating = [
    startListUpkeep({ pool, pulse }),
    startListFills({ pool, pulse }),
    startContactRemoval({
      pool,
      pulse,
      log,
      further: [
        forgetImportedContact,
        forgetContactInFlows,
        forgetValidatedContact,
        forgetContactInInbox,
        endExportsOfContact,
        forgetContactInExports,
        forgetContactInBulkActions,
      ],
    }),
    startOptOutWalk({ pool, pulse, keyring, plusAddresses, log }),
  ];
  return { stop: () => Promise.all(repeating.map((each) => each.stop())) };
}

/** Entries into flows, changes of all runs of a flow, counts of flows, and headers that are not sealed yet. */
function startFlowWork(
  config: Config,
  { events, keyring }: { events: EventPublisher; keyring: Keyring },
  { database: { pool }, waker, pulse, log }: LoopDeps,
) {
  const shared = { pool, waker, pulse, log };
  const versions = createFlowVersionReader(pool);
  const loops = [
    startFlowEntries(shared),
    startFlowChanges({ ...shared, versions }),
    startFlowCounts({ ...shared, events, thresholds: stopThresholds(config) }),
    startHeaderSealing({ pool, keyring, pulse }),
  ];
  return { stop: () => Promise.all(loops.map((each) => each.stop())) };
}

/** Mails links for new passwords, and removes secret links from sent mail. */
function startLinkMails(config: Config, { database: { pool }, waker, pulse, log }: LoopDeps) {
  const loops = [
    startPasswordResets({ config, pool, waker, pulse, log }),
    startSecretRemoval({ pool, pulse }),
  ];
  return { stop: () => Promise.all(loops.map((each) => each.stop())) };
}

/** Folds counts of usage and statistics, removes files that no message names, and ends scheduled tests. */
function startCountsAndFiles({ CARILLON_HOME: home }: Config, { database: { pool }, pulse }: LoopDeps) {
  const loops = [
    startUsageCounts({ pool, pulse }),
    startStatCounts({ pool, pulse }),
    startAttachmentRemoval({ pool, store: createHomeStore(home), pulse }),
    startScheduledTests({ pool, pulse }),
  ];
  return { stop: () => Promise.all(loops.map((each) => each.stop())) };
}

function checkConnections(pool: pg.Pool, poolMax: number, log: Logger): Promise<void> {
  const connections = poolMax + HEAVY_READ_CONNECTIONS + EVALUATION_CONNECTIONS;
  return checkServer(pool, connections, (facts, message) => log.warn(facts, message));
}

/**
 * Claims the folder of blobs while it is empty. If an API stored a file first, or the folder cannot be read yet, the
 * hourly housekeeping claims it.
 */
async function claimHomeFolder(
  { CARILLON_HOME: home }: Config,
  claim: (store: BlobStore) => Promise<FolderOwner>,
  log: Logger,
): Promise<void> {
  try {
    if ((await claim(createHomeStore(home))) === 'foreign')
      log.warn({ home }, 'the folder of stored files is that of another installation: no files are cleared');
  } catch (err) {
    log.warn({ err, home }, 'the folder of stored files cannot be claimed');
  }
}

function databaseOptions(config: Config, url: string) {
  return {
    url,
    directUrl: config.DATABASE_DIRECT_URL,
    serverChanges: createServerChanges(),
    poolMax: config.DATABASE_POOL ?? POOL,
    applicationName: 'carillon worker',
  };
}

/**
 * The `worker` role: workflows and activities, the dispatcher of the outbox, and the reconciler. It waits for the
 * database. It starts and runs without the engine, and serves the engine as soon as that is available.
 * @throws ConfigError without DATABASE_URL, APP_SECRET and TEMPORAL_ADDRESS, or if the database does not know APP_SECRET
 */
export async function run(config: Config): Promise<{ stop(): Promise<void> }> {
  const settings = requireSettings(config, 'DATABASE_URL', 'APP_SECRET', 'TEMPORAL_ADDRESS');
  const log = createLogger(config, 'worker');
  const options = databaseOptions(config, settings.DATABASE_URL);
  const resolver = createResolver(config.DNS_SERVERS);
  const engine = openEngine(config);
  const database = openDatabase(options);
  const whenAvailable = createDatabaseWait(options.url, log);
  await whenAvailable(() => checkConnections(database.pool, options.poolMax, log));
  const keyring = await openRoleKeyring(database, config, whenAvailable);
  const process = await whenAvailable(() => registerProcess(options, 'worker', upkeep.processWork, log));
  await claimHomeFolder(config, (store) => whenAvailable(() => claimFolder(database.pool, store)), log);
  const waker = createWaker(options, peersOf({ config, db: database.pool, log }));
  const pulse = createPulse({ db: database.pool, log });
  const loops = { database, waker, pulse, log };
  const sync = startEngineSync(engine, loops);
  const stopping = new AbortController();
  const events = createEventPublisher(eventConsumers);
  const egress = createEgress({ resolver, allow: config.EGRESS_ALLOW, userAgent: TRACKING_USER_AGENT });
  const tracking = startTracking({ pool: database.pool, egress, keyring, events, waker, pulse, log });
  const reads = { heavyReads: openHeavyReads(options), evaluations: openEvaluations(options) };
  const checker = openAddressChecker({ config, resolver, egress });
  const workers = startWorkers({
    config,
    database,
    ...reads,
    waker,
    keyring,
    resolver,
    checker,
    events,
    trackedEventConsumers: createTrackedEventConsumers({ waker }),
    upkeep,
    log,
    stopping: stopping.signal,
  });
  const audience = startAudienceWork(config, keyring, loops);
  const brakes = startBrakes({ config, database, waker, events, log });
  const { pool } = database;
  const wallets = startWallets({ config, pool, waker, log });
  const flows = startFlowWork(config, { events, keyring }, loops);
  const counts = startCountsAndFiles(config, loops);
  const links = startLinkMails(config, loops);
  if (config.CLAMD_URL !== undefined) void announceScanner(config.CLAMD_URL, log);
  const metrics = await serveMetrics('worker', { config, pool, log, sources: workerFigures(pool) });
  log.info({ namespace: engine.namespace }, 'worker started');
  return {
    async stop() {
      stopping.abort();
      await metrics?.stop();
      const working = [pulse, sync, tracking, brakes, wallets, audience, flows, counts, links, workers];
      await Promise.all(working.map((each) => each.stop()));
      checker.close();
      for (const part of [...Object.values(reads), egress, process, waker, engine, database])
        await part.close();
      log.info('worker stopped');
    },
  };
}
