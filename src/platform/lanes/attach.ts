import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { createLaneActivities } from '../../../activities/lanes.ts';
import type { LaneKind, LaneMode } from '../../../workflows/lanes/contract.ts';
import type { Config } from '../../config.ts';
import type { Database } from '../db/database.ts';
import { repeat } from '../processes/repeat.ts';
import { openEngine } from '../temporal/connection.ts';
import { taskQueues } from '../temporal/contract.ts';
import { keepWorking } from '../temporal/worker.ts';
import { ensureLanes } from './ensure.ts';
import type { LaneLoop } from './loop.ts';
import { adoptLane, hasLanes, type Lane, planLanes } from './rows.ts';

const ENSURE_MS = 30_000;
const ENSURE_RETRY_MS = 2_000;
/** As long as the database may take to see that the connection of a process that was killed is gone. */
const GONE_MS = 2_000;
const GONE_LOOK_MS = 100;

export interface SenderSide {
  config: Config;
  database: Database;
  /** This process's loops, at most one of a kind; the process is registered, and `report()` says its id. */
  loops: LaneLoop[];
  log: Logger;
}

/**
 * A lane that another left. Where all are taken, the one that this process replaces may only seem alive, so a new
 * one is not made at once: the mode in which the operator left the old one would be lost.
 */
async function adoptOrMakeLane(
  { pool }: Database,
  kind: LaneKind,
  processId: number,
): Promise<(Pick<Lane, 'n'> & { mode: LaneMode }) | null> {
  const end = Date.now() + GONE_MS;
  while (await hasLanes(pool, kind)) {
    const lane = await adoptLane(pool, kind, processId);
    if (lane) return lane;
    if (Date.now() >= end) break;
    await delay(GONE_LOOK_MS);
  }
  await planLanes(pool, kind);
  return adoptLane(pool, kind, processId);
}

/**
 * Whether the engine is there or not: an operator's pause outlives a restart of the process.
 * @returns the lane of each kind that this process takes for its own
 */
async function comeBackInMode({ database, loops, log }: SenderSide): Promise<Map<LaneKind, number>> {
  const own = new Map<LaneKind, number>();
  const comeBack = async (loop: LaneLoop): Promise<void> => {
    try {
      const lane = await adoptOrMakeLane(database, loop.kind, loop.report().processId);
      if (!lane) return;
      own.set(loop.kind, lane.n);
      loop.setMode(lane.mode);
    } catch (error) {
      log.warn({ err: error, lane_kind: loop.kind }, 'the mode of a lane could not be read');
    }
  };
  await Promise.all(loops.map(comeBack));
  return own;
}

/**
 * Show and steer a sender process's loops in the engine: makes sure that there are enough lanes, and attaches two
 * of them. Returns as soon as the loops have the modes that their operator left them in, so start them after it;
 * the rest goes on in the background, and the engine may be away at any time.
 * @throws ConfigError where no engine address is set
 */
export async function attachSender(side: SenderSide): Promise<{ stop(): Promise<void> }> {
  const { config, database, loops, log } = side;
  const engine = openEngine(config);
  const own = await comeBackInMode(side);
  const activities = createLaneActivities({ database, loops, log, own });
  const workers = keepWorking({
    config: { ...config, SHUTDOWN_GRACE_SECONDS: 0 },
    log,
    tasks: async () => [
      {
        taskQueue: taskQueues.delivery,
        activities: { attachLane: activities.attachLane },
        maxConcurrentActivityTaskExecutions: loops.length,
        // The library would send heartbeats at 0.8 of their time-out only.
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
    { log, name: 'making sure of the lanes', retryMs: ENSURE_RETRY_MS },
  );
  return {
    async stop() {
      await Promise.all([lanes.stop(), workers.stop()]);
      await engine.close();
    },
  };
}
