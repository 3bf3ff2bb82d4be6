import { ApplicationFailure, Context } from '@temporalio/activity';
import type { Logger } from 'pino';
import type { Database } from '../src/platform/db/database.ts';
import type { LaneLoop } from '../src/platform/lanes/loop.ts';
import { forgetLane, openLane, readLaneMode, recordLaneMode, takeLane } from '../src/platform/lanes/rows.ts';
import {
  laneSignals,
  type LaneAttachment,
  type LaneMode,
  type LaneReport,
} from '../workflows/lanes/contract.ts';

const LOOK_MS = 1_000;
/** Well before the start-to-close time-out of an hour. */
const ATTACHED_MS = 50 * 60_000;
/** The workflow is told of a change at most this often, and of figures at least every five minutes. */
const TELL_MIN_MS = 10_000;
const TELL_MAX_MS = 300_000;
/** As long as the engine takes to see that the attempt before a restart is dead. */
const OWN_FIRST_MS = 15_000;

export interface LaneDependencies {
  database: Database;
  /** One of a kind at most. */
  loops: LaneLoop[];
  log: Logger;
  /** The lanes that this process had before, as far as it can tell; others are refused for a while. */
  own?: ReadonlyMap<LaneAttachment['kind'], number>;
}

/** What the `worker` role does for lanes: their rows. */
export function createLaneModeActivities(deps: { database: Database }) {
  const { pool } = deps.database;
  return {
    /** @returns the mode in which the lane's operator left it */
    openLane: (lane: LaneAttachment): Promise<LaneMode> => openLane(pool, lane),
    recordLaneMode: (lane: LaneAttachment, mode: LaneMode): Promise<void> => recordLaneMode(pool, lane, mode),
    forgetLane: (lane: LaneAttachment): Promise<void> => forgetLane(pool, lane),
  };
}

export type LaneModeActivities = ReturnType<typeof createLaneModeActivities>;
export interface LaneActivities {
  attachLane: (lane: LaneAttachment) => Promise<LaneReport>;
}

interface Attached {
  n: number;
  /** Ends the activity, not the loop. */
  detach: (reason: string) => void;
}

interface Watch {
  lane: LaneAttachment;
  loop: LaneLoop;
  processId: number | null;
  told: { at: number; essence: string };
}

/** What an operator wants to know at once, apart from figures that change all the time. */
function essenceOf(report: LaneReport): string {
  const providers = Object.entries(report.providers).map(([name, { state, reason }]) => [
    name,
    state,
    reason,
  ]);
  return JSON.stringify([report.processId, report.mode, providers]);
}

/** Where it fails, the next look that may tell tells again. */
async function tellWorkflow(watch: Watch, report: LaneReport, log: Logger): Promise<void> {
  const { told } = watch;
  const essence = essenceOf(report);
  const silentMs = Date.now() - told.at;
  if (silentMs < TELL_MIN_MS || (essence === told.essence && silentMs < TELL_MAX_MS)) return;
  watch.told = { at: Date.now(), essence };
  try {
    const { client, info } = Context.current();
    const { workflowId, runId } = info.workflowExecution ?? {};
    if (workflowId === undefined) return;
    await client.workflow.getHandle(workflowId, runId).signal(laneSignals.reported, report);
  } catch (error) {
    watch.told.essence = '';
    log.debug({ err: error, lane: watch.lane }, 'a lane could not be told what its loop does');
  }
}

/** While the database is away the loop keeps its mode. */
async function applyMode(watch: Watch, deps: LaneDependencies): Promise<void> {
  const { lane, loop } = watch;
  const { processId } = loop.report();
  try {
    if (processId !== watch.processId) await takeLane(deps.database.pool, lane, processId);
    watch.processId = processId;
    const mode = await readLaneMode(deps.database.pool, lane);
    if (mode !== null && mode !== loop.report().mode) loop.setMode(mode);
  } catch (error) {
    deps.log.debug({ err: error }, "a lane's mode could not be read");
  }
}

function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted) done();
  });
}

async function watchLoop(watch: Watch, deps: LaneDependencies, signal: AbortSignal): Promise<LaneReport> {
  const end = Date.now() + ATTACHED_MS;
  for (;;) {
    await applyMode(watch, deps);
    const report = watch.loop.report();
    Context.current().heartbeat(report);
    void tellWorkflow(watch, report, deps.log);
    if (Date.now() >= end || signal.aborted) return report;
    await wait(LOOK_MS, signal);
  }
}

/**
 * The activity of a `sender` process. It attaches a lane to the process's loop of that kind: sets the mode which
 * the lane's row asks for, and reports. Its end and its cancellation detach; the loop goes on.
 */
export function createLaneActivities(deps: LaneDependencies): LaneActivities & { detachAll(): void } {
  const attached = new Map<string, Attached>();
  const ownUntil = Date.now() + OWN_FIRST_MS;
  const attach = (lane: LaneAttachment, detach: Attached['detach']): Attached => {
    const own = deps.own?.get(lane.kind);
    if (own !== undefined && own !== lane.n && Date.now() < ownUntil) {
      throw ApplicationFailure.retryable(
        `this process waits for ${lane.kind} lane ${own}`,
        'other_lane_first',
      );
    }
    const other = attached.get(lane.kind);
    if (other && other.n !== lane.n) {
      throw ApplicationFailure.retryable(`this process shows ${lane.kind} lane ${other.n}`, 'loop_taken');
    }
    // An attempt of this very lane that the engine gave up on, before it could know.
    other?.detach('superseded');
    const mine = { n: lane.n, detach };
    attached.set(lane.kind, mine);
    return mine;
  };
  return {
    async attachLane(lane) {
      const loop = deps.loops.find((candidate) => candidate.kind === lane.kind);
      if (!loop) throw ApplicationFailure.retryable(`this process has no ${lane.kind} loop`, 'loop_missing');
      const detached = new AbortController();
      const mine = attach(lane, (reason) => detached.abort(reason));
      const { cancellationSignal, cancelled } = Context.current();
      const watch: Watch = { lane, loop, processId: null, told: { at: 0, essence: '' } };
      try {
        const report = await watchLoop(watch, deps, AbortSignal.any([cancellationSignal, detached.signal]));
        if (cancellationSignal.aborted) await cancelled;
        if (detached.signal.aborted) {
          // As it is meant to be: the library tells of it at debug level, not as a warning at every stop.
          throw ApplicationFailure.create({
            message: `detached: ${detached.signal.reason}`,
            type: 'detached',
            category: 'BENIGN',
          });
        }
        return report;
      } finally {
        if (attached.get(lane.kind) === mine) attached.delete(lane.kind);
      }
    },
    /** The process is stopping: its lanes go elsewhere. */
    detachAll() {
      for (const one of attached.values()) one.detach('the process is stopping');
    },
  };
}
