import {
  type ActivityOptions,
  ActivityCancellationType,
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import {
  laneQueries,
  laneSignals,
  type LaneActivities,
  type LaneInput,
  type LaneKind,
  type LaneMode,
  type LaneModeActivities,
  type LaneReport,
} from './contract.ts';
import { describeLane } from './details.ts';

/**
 * The long activity of a lane. Missing heartbeats reveal a killed sender; about a second later, the lane moves to
 * another process. The activity ends by itself well before the start-to-close time-out.
 */
const attachOptions: ActivityOptions = {
  taskQueue: 'delivery',
  startToCloseTimeout: '1h',
  scheduleToCloseTimeout: '1d',
  heartbeatTimeout: '10s',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: { initialInterval: '1s', maximumInterval: '2s', backoffCoefficient: 1.5 },
};

/** For activities that read and write the lane's row. */
const modeOptions: ActivityOptions = {
  taskQueue: 'orchestration',
  startToCloseTimeout: '10s',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
};

const { attachLane } = proxyActivities<LaneActivities>(attachOptions);
const { openLane, recordLaneMode, forgetLane } = proxyActivities<LaneModeActivities>(modeOptions);

const pause = defineSignal(laneSignals.pause);
const resume = defineSignal(laneSignals.resume);
const drain = defineSignal(laneSignals.drain);
const restart = defineSignal(laneSignals.restart);
const retire = defineSignal(laneSignals.retire);
const reported = defineSignal<[LaneReport]>(laneSignals.reported);
const reportQuery = defineQuery<LaneReport | null>(laneQueries.report);
const stateQuery = defineQuery<LaneState>(laneQueries.state);

const WEEK_MS = 7 * 86_400_000;
/**
 * Maximum number of stays in one run. A stay lasts up to fifty minutes, so this is about a week, or less if stays end
 * early.
 */
const MAX_STAYS = 200;

/** The result of the query `state`. */
export interface LaneState {
  kind: LaneKind;
  n: number;
  /** The mode in the lane's row; the loop follows within a second. */
  mode: LaneMode;
  /** The mode that a signal has asked for, but that is not in the row yet. */
  wanted: LaneMode | null;
  report: LaneReport | null;
  /** When the report arrived, in ISO 8601. */
  reportedAt: string | null;
  restarting: boolean;
  retiring: boolean;
}

function showLane(lane: LaneState): void {
  setCurrentDetails(describeLane(lane, lane.wanted ?? lane.mode, lane.report, lane.reportedAt));
}

function handleMessages(lane: LaneState): void {
  const ask = (mode: LaneMode) => () => {
    lane.wanted = mode;
    showLane(lane);
  };
  setHandler(pause, ask('paused'));
  setHandler(resume, ask('running'));
  setHandler(drain, ask('draining'));
  setHandler(restart, () => void (lane.restarting = true));
  setHandler(retire, () => void (lane.retiring = true));
  setHandler(reported, (report) => {
    lane.report = report;
    lane.reportedAt = new Date().toISOString();
    showLane(lane);
  });
  setHandler(reportQuery, () => lane.report);
  setHandler(stateQuery, () => lane);
}

/** Writes the modes that operators ask for into the lane's row, one after another. The loop's process reads them. */
async function steer(lane: LaneState): Promise<void> {
  for (;;) {
    await condition(() => lane.wanted !== null, '1 day', { summary: 'until an operator changes the mode' });
    const mode = lane.wanted;
    if (mode === null) continue;
    await recordLaneMode({ kind: lane.kind, n: lane.n }, mode);
    lane.mode = mode;
    if (lane.wanted === mode) lane.wanted = null;
    showLane(lane);
  }
}

/** Stays attached to one process until the activity ends or is cancelled. The activity's own time-out is enough. */
async function stayAttached(lane: LaneState): Promise<void> {
  const scope = new CancellationScope();
  let ended = false;
  const stay = scope
    .run(() => attachLane({ kind: lane.kind, n: lane.n }))
    .then(
      (report) => void (lane.report = report),
      async (error) => {
        if (CancellationScope.current().consideredCancelled) throw error;
        if (!isCancellation(error)) await sleep('5s');
      },
    )
    .finally(() => void (ended = true));
  await Promise.race([stay, condition(() => ended || lane.restarting || lane.retiring)]);
  if (!ended) scope.cancel();
  await stay;
  lane.restarting = false;
  lane.report = null;
  showLane(lane);
}

/** Serves until the lane is surplus, or its history is so long that the workflow should continue as new. */
async function serve(lane: LaneState): Promise<'retired' | 'old'> {
  const end = Date.now() + WEEK_MS;
  for (let stays = 1; !lane.retiring; stays += 1) {
    await stayAttached(lane);
    if (stays >= MAX_STAYS || Date.now() >= end || workflowInfo().continueAsNewSuggested) return 'old';
  }
  return 'retired';
}

async function runLane(kind: LaneKind, input: LaneInput): Promise<void> {
  const lane: LaneState = {
    kind,
    n: input.n,
    mode: 'running',
    wanted: input.wanted ?? null,
    report: null,
    reportedAt: null,
    restarting: false,
    retiring: false,
  };
  handleMessages(lane);
  lane.mode = await openLane({ kind, n: input.n });
  showLane(lane);
  const steering = new CancellationScope();
  const steered = steering.run(() => steer(lane)).catch(ignoreCancellation);
  const reason = await serve(lane);
  await condition(() => lane.wanted === null && allHandlersFinished(), '1 minute');
  steering.cancel();
  await steered;
  if (reason === 'retired') return forgetLane({ kind, n: input.n });
  const unwritten = lane.wanted === null ? {} : { wanted: lane.wanted };
  await continueAsNew<typeof sendLane>({ schema: 1, n: input.n, ...unwritten });
}

function ignoreCancellation(error: unknown): void {
  if (!isCancellation(error)) throw error;
}

/** Shows and steers the send loop of one sender process; see `ensureLanes`. */
export async function sendLane(input: LaneInput): Promise<void> {
  await runLane('send', input);
}

/** Shows and steers the webhook loop of one sender process; see `ensureLanes`. */
export async function webhookLane(input: LaneInput): Promise<void> {
  await runLane('webhook', input);
}
