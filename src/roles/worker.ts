import type { Logger } from 'pino';
import { type ActivityDependencies, createActivities } from '../../activities/index.ts';
import { type Config, requireSettings } from '../config.ts';
import { workflowSources } from '../features/upkeep.ts';
import { createLogger } from '../log.ts';
import { requireConnections, type Database, openDatabase } from '../platform/db/database.ts';
import { createWaker, type Waker } from '../platform/db/wake.ts';
import { createResolver } from '../platform/dns/resolver.ts';
import { createDispatcher } from '../platform/outbox/dispatcher.ts';
import { createReconciler } from '../platform/outbox/reconciler.ts';
import { registerProcess } from '../platform/processes/process.ts';
import { createKeyring } from '../platform/secrets/keyring.ts';
import { type Engine, openEngine } from '../platform/temporal/connection.ts';
import { taskQueues } from '../platform/temporal/contract.ts';
import { createPreparation } from '../platform/temporal/prepare.ts';
import { bundleWorkflows, keepWorking, type KeptWorkers } from '../platform/temporal/worker.ts';

const POOL = 12;
/**
 * Activities of the bulk queue at once. Nearly all of them wait, for endpoints that do not answer or for the next retry
 * (5 s at most), and their statements are short, so that the pool's connections are enough for many. With fewer, a
 * hundred endpoints that fail would make the others wait.
 */
const BULK_ACTIVITIES = 1_000;
/** How soon another worker takes over the workflows of one that was killed. */
const STICKY_TIMEOUT = '5s';
/** The library would send heartbeats at 0.8 of their time-out only. */
const heartbeats = { maxHeartbeatThrottleInterval: '1s', defaultHeartbeatThrottleInterval: '1s' } as const;

function startWorkers(deps: ActivityDependencies): KeptWorkers {
  const activities = createActivities(deps);
  return keepWorking({
    config: deps.config,
    log: deps.log,
    tasks: async () => [
      {
        taskQueue: taskQueues.orchestration,
        workflowBundle: await bundleWorkflows(),
        activities,
        stickyQueueScheduleToStartTimeout: STICKY_TIMEOUT,
        ...heartbeats,
      },
      {
        taskQueue: taskQueues.bulk,
        activities,
        maxConcurrentActivityTaskExecutions: BULK_ACTIVITIES,
        ...heartbeats,
      },
    ],
  });
}

function startEngineRoom(engine: Engine, database: Database, waker: Waker, log: Logger) {
  const preparation = createPreparation({ engine, database, log });
  const shared = { database, client: engine.client, log };
  const dispatcher = createDispatcher({ ...shared, waker, onRefused: () => preparation.wake() });
  const reconciler = createReconciler({
    ...shared,
    namespaceId: () => engine.namespaceId(),
    sources: workflowSources,
    prepare: () => preparation.prepare(),
  });
  return { stop: () => Promise.all([dispatcher.stop(), reconciler.stop(), preparation.stop()]) };
}

/**
 * The `worker` role: workflows and activities, the dispatcher of the outbox, and the reconciler. It starts and goes
 * on while the engine is away, and serves it when it comes.
 * @throws ConfigError without DATABASE_URL, APP_SECRET and TEMPORAL_ADDRESS
 */
export async function run(config: Config): Promise<{ stop(): Promise<void> }> {
  const settings = requireSettings(config, 'DATABASE_URL', 'APP_SECRET', 'TEMPORAL_ADDRESS');
  const log = createLogger(config, 'worker');
  const options = {
    url: settings.DATABASE_URL,
    poolMax: config.DATABASE_POOL ?? POOL,
    applicationName: 'carillon worker',
  };
  const keyring = createKeyring(settings.APP_SECRET, config.APP_SECRET_PREVIOUS);
  const resolver = createResolver(config.DNS_SERVERS);
  const engine = openEngine(config);
  const database = openDatabase(options);
  await requireConnections(database.pool, options.poolMax, (facts, message) => log.warn(facts, message));
  const process = await registerProcess(options, 'worker');
  const waker = createWaker(options);
  const room = startEngineRoom(engine, database, waker, log);
  const stopping = new AbortController();
  const dependencies = { config, database, waker, keyring, resolver, log, stopping: stopping.signal };
  const workers = startWorkers(dependencies);
  log.info({ namespace: engine.namespace }, 'worker works');
  return {
    async stop() {
      stopping.abort();
      await Promise.all([room.stop(), workers.stop()]);
      await process.close();
      await waker.close();
      await engine.close();
      await database.close();
      log.info('worker stopped');
    },
  };
}
