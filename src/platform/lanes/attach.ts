import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { LaneActivities, LaneKind, LaneMode } from '../../../workflows/lanes/contract.ts';
import type { Config } from '../../config.ts';
import type { Database } from '../db/database.ts';
import { isConnectionError } from '../db/queryable.ts';
import { repeat } from '../processes/repeat.ts';
import { openEngine } from '../temporal/connection.ts';
import { taskQueues } from '../temporal/contract.ts';
import { keepWorking } from '../temporal/worker.ts';
import { ensureLanes } from './ensure.ts';
import type { LaneLoop } from '../queue/loop.ts';
import { adoptLane, hasLanes, type Lane, planLanes, releaseLanes } from './rows.ts';

const ENSURE_MS = 30_000;
const ENSURE_RETRY_MS = 2_000;
/** How long the database may take to notice that the connection of a killed process is gone, in ms. */
const RELEASE_MS = 2_000;
const RELEASE_CHECK_MS = 100;

export interface AttachDependencies {
  config: Config;
  database: Database;
  /** This process's loops, at most one of each kind. The process is registered, so `report()` has its id. */
  loops: LaneLoop[];
  /** @param own the lanes that this process took over at its start; it refuses others for a while */
  createActivities: (own: ReadonlyMap<LaneKind, number>) => LaneActivities & { detachAll(): void };
  log: Logger;
}

/**
 * Takes a lane that has no live process. If all lanes are taken, the process that this one replaces may only seem to be
 * alive. So wait before making a new lane, which would lose the mode of the old one.
 */
async function adoptOrMakeLane(
  { pool }: Database,
  kind: LaneKind,
  processId: number,
): Promise<(Pick<Lane, 'n'> & { mode: LaneMode }) | null> {
  const end = Date.now() + RELEASE_MS;
  while (await hasLanes(pool, kind)) {
    const lane = await adoptLane(pool, kind, processId);
    if (lane) return lane;
    if (Date.now() >= end) break;
    await delay(RELEASE_CHECK_MS);
  }
  await planLanes(pool, kind);
  return adoptLane(pool, kind, processId);
}

/**
 * Gives each loop the mode in which the operator left it, so that a pause outlives a restart of the process, whether
 * the engine is available or not.
 * @returns the lanes that this process takes over, by kind
 */
async function restoreModes({ database, loops, log }: AttachDependencies): Promise<Map<LaneKind, number>> {
  const own = new Map<LaneKind, number>();
  const restore = async (loop: LaneLoop): Promise<void> => {
    try {
      const lane = await adoptOrMakeLane(database, loop.kind, loop.report().processId);
      if (!lane) return;
      own.set(loop.kind, lane.n);
      loop.setMode(lane.mode);
    } catch (error) {
      // The loop of a paused lane must not start, so the caller waits for the database.
      if (isConnectionError(error)) throw error;
      log.warn({ err: error, lane_kind: loop.kind }, "cannot read the lane's mode");
    }
  };
  await Promise.all(loops.map(restore));
  return own;
}

/**
 * Shows a sender process's loops in the engine and lets operators control them there: makes sure that there are enough
 * lanes, and attaches one lane to each loop. Returns as soon as the loops have the modes in which their operator left
 * them, so start the loops afterwards. The rest happens in the background; the engine may be unavailable at any time.
 * @throws ConfigError if no engine address is set; the error of the connection if the database is unavailable
 */
export async function attachSender(deps: AttachDependencies): Promise<{ stop(): Promise<void> }> {
  const { config, database, loops, log } = deps;
  const modes = await restoreModes(deps);
  const engine = openEngine(config);
  const activities = deps.createActivities(modes);
  const workers = keepWorking({
    config: { ...config, SHUTDOWN_GRACE_SECONDS: 0 },
    log,
    tasks: async () => [
      {
        taskQueue: taskQueues.delivery,
        activities: { attachLane: activities.attachLane },
        maxConcurrentActivityTaskExecutions: loops.length,
        // By default the library sends a heartbeat only after 0.8 of the heartbeat time-out.
        maxHeartbeatThrottleInterval: '2s',
        defaultHeartbeatThrottleInterval: '2s',
      },
    ],
    onStopping: () => activities.detachAll(),
  });
  const lanes = repeat(
    async () => {
      await ensureLanes(engine.client, database);
      return ENSURE_MS;
    },
    { log, name: 'ensuring the lanes', retryMs: ENSURE_RETRY_MS },
  );
  return {
    async stop() {
      await Promise.all([lanes.stop(), workers.stop()]);
      await engine.close();
      const [processId] = loops.map((loop) => loop.report().processId);
      await releaseLanes(database.pool, processId ?? 0).catch((error: unknown) =>
        log.warn({ err: error }, 'lanes not released'),
      );
    },
  };
}
