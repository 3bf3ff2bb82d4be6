import { ApplicationFailure, Context } from '@temporalio/activity';
import type { Logger } from 'pino';
import type { Database } from '../src/platform/db/database.ts';
import type { Pulse } from '../src/platform/processes/pulse.ts';
import type { LaneLoop } from '../src/platform/queue/loop.ts';
import { forgetLane, openLane, readLaneMode, recordLaneMode, takeLane } from '../src/platform/lanes/rows.ts';
import {
  type LaneActivities,
  type LaneAttachment,
  type LaneMode,
  type LaneModeActivities,
  type LaneReport,
  laneSignals,
} from '../workflows/lanes/contract.ts';

/** Time between two heartbeats while the loop runs, and between two looks at the mode while it does not, in ms. */
const REPORT_MS = 2_000;
const CHECK_MS = 1_000;
/** How long an activity attaches a lane, in ms: well below the start-to-close time-out of an hour. */
const ATTACHED_MS = 50 * 60_000;
/** Shortest time between two reports to the workflow, in ms, and longest time between two reports of figures. */
const REPORT_MIN_MS = 10_000;
const REPORT_MAX_MS = 300_000;
/** How long the engine needs to notice that the attempt before a restart is dead, in ms. */
const OWN_LANE_FIRST_MS = 15_000;

export interface LaneDependencies {
  database: Database;
  /** At most one per kind. */
  loops: LaneLoop[];
  pulse: Pulse;
  log: Logger;
  /** The lanes that this process had before its restart; at first it refuses others. */
  own?: ReadonlyMap<LaneAttachment['kind'], number>;
  /** Shortest time between two reports to the workflow; ten seconds by default. */
  reportMinMs?: number;
}

/** The lane activities of the `worker` role: they read and write the lane's row. */
export function createLaneModeActivities(deps: { database: Database }): LaneModeActivities {
  const { pool } = deps.database;
  return {
    openLane: (lane) => openLane(pool, lane),
    recordLaneMode: (lane, mode) => recordLaneMode(pool, lane, mode),
    forgetLane: (lane) => forgetLane(pool, lane),
  };
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
  /** The last report to the workflow. */
  reported: { at: number; summary: string };
}

/** The part of a report whose changes are reported soon. The figures change all the time. */
function summaryOf(report: LaneReport): string {
  const providers = Object.entries(report.providers).map(([name, { state, reason }]) => [
    name,
    state,
    reason,
  ]);
  return JSON.stringify([report.processId, report.mode, providers]);
}

/** Reports to the workflow if it is time. After a failure, a later check reports again. */
async function reportToWorkflow(watch: Watch, report: LaneReport, deps: LaneDependencies): Promise<void> {
  const { log, reportMinMs = REPORT_MIN_MS } = deps;
  const { reported } = watch;
  const summary = summaryOf(report);
  const silentMs = Date.now() - reported.at;
  if (silentMs < reportMinMs || (summary === reported.summary && silentMs < REPORT_MAX_MS)) return;
  watch.reported = { at: Date.now(), summary };
  try {
    const { client, info } = Context.current();
    const { workflowId, runId } = info.workflowExecution ?? {};
    if (workflowId === undefined) return;
    await client.workflow.getHandle(workflowId, runId).signal(laneSignals.reported, report);
  } catch (error) {
    watch.reported.summary = '';
    log.debug({ err: error, lane: watch.lane }, "the loop's report did not reach the lane");
  }
}

/**
 * Applies the mode in the lane's row. While the database is unavailable, the loop keeps its mode.
 * @returns null if the row is gone or cannot be read
 */
async function applyMode(watch: Watch, deps: LaneDependencies): Promise<LaneMode | null> {
  const { lane, loop } = watch;
  const { processId } = loop.report();
  try {
    if (processId !== watch.processId) await takeLane(deps.database.pool, lane, processId);
    watch.processId = processId;
    const mode = await readLaneMode(deps.database.pool, lane);
    if (mode !== null && mode !== loop.report().mode) loop.setMode(mode);
    return mode;
  } catch (error) {
    deps.log.debug({ err: error }, "cannot read the lane's mode");
    return null;
  }
}

/** @param onRing receives a function that ends the wait early */
function wait(milliseconds: number, signal: AbortSignal, onRing: (ring: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener('abort', done, { once: true });
    onRing(done);
    if (signal.aborted) done();
  });
}

/** SQL: whether a lane has another mode than `running`. */
const isSteeredSql = ({ kind, n }: LaneAttachment): string =>
  `exists (select from lanes where kind = '${kind}' and n = ${n} and mode <> 'running')`;

/** Reports, and applies the mode of the lane within a second. While the loop runs, the pulse finds a change. */
async function watchLoop(watch: Watch, deps: LaneDependencies, signal: AbortSignal): Promise<LaneReport> {
  const { lane, loop } = watch;
  const end = Date.now() + ATTACHED_MS;
  let isRunning = false;
  let ring: () => void = () => undefined;
  const unwatch = deps.pulse.watch(isSteeredSql(lane), () => {
    isRunning = false;
    ring();
  });
  try {
    for (;;) {
      const isOwn = loop.report().processId === watch.processId;
      if (!isRunning || !isOwn) {
        // If the pulse finds a newer change during the read, this stays false.
        isRunning = true;
        if ((await applyMode(watch, deps)) !== 'running') isRunning = false;
      }
      const report = loop.report();
      Context.current().heartbeat(report);
      void reportToWorkflow(watch, report, deps);
      if (Date.now() >= end || signal.aborted) return report;
      await wait(isRunning ? REPORT_MS : CHECK_MS, signal, (done) => (ring = done));
    }
  } finally {
    unwatch();
  }
}

/**
 * A failure that belongs to normal operation: processes start, stop, and compete for lanes. The engine tries the
 * activity again. Benign, so that the library logs it at debug level instead of warning.
 */
const expected = (type: string, message: string) =>
  ApplicationFailure.create({ message, type, category: 'BENIGN' });

/**
 * The activity of a `sender` process. It attaches a lane to the process's loop of that kind, applies the mode in the
 * lane's row, and reports. Its end or cancellation detaches the lane; the loop continues.
 */
export function createLaneActivities(deps: LaneDependencies): LaneActivities & { detachAll(): void } {
  const attached = new Map<string, Attached>();
  const ownUntil = Date.now() + OWN_LANE_FIRST_MS;
  const attach = (lane: LaneAttachment, detach: Attached['detach']): Attached => {
    const own = deps.own?.get(lane.kind);
    if (own !== undefined && own !== lane.n && Date.now() < ownUntil) {
      throw expected('other_lane_first', `this process waits for ${lane.kind} lane ${own}`);
    }
    const other = attached.get(lane.kind);
    if (other && other.n !== lane.n) {
      throw expected('loop_taken', `this process shows ${lane.kind} lane ${other.n}`);
    }
    // The engine has given up on an earlier attempt for this lane, which has not noticed yet.
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
      const watch: Watch = { lane, loop, processId: null, reported: { at: 0, summary: '' } };
      try {
        const report = await watchLoop(watch, deps, AbortSignal.any([cancellationSignal, detached.signal]));
        if (cancellationSignal.aborted) await cancelled;
        if (detached.signal.aborted) throw expected('detached', `detached: ${detached.signal.reason}`);
        return report;
      } finally {
        if (attached.get(lane.kind) === mine) attached.delete(lane.kind);
      }
    },
    /** Call it when the process stops: other processes then attach its lanes. */
    detachAll() {
      for (const one of attached.values()) one.detach('the process is stopping');
    },
  };
}
