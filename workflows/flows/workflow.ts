import {
  CancellationScope,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import {
  flowRunQueries,
  flowRunSignals,
  type FlowRunActivities,
  type FlowRunAdvance,
  type FlowRunInput,
  type FlowRunState,
} from './contract.ts';

/** One short transaction each, without a round trip to the engine. Retries while the database is unavailable. */
const { advanceRun, cancelRun } = proxyLocalActivities<FlowRunActivities>({
  startToCloseTimeout: '1 minute',
  localRetryThreshold: '10s',
  retry: { initialInterval: '500ms', maximumInterval: '1 minute' },
});

/**
 * The activity sets the delay of the next attempt, and stores the failure of its last attempt. The row counts the
 * attempts: if a request waits until this activity times out, the next activity continues counting.
 */
const { callWebhook } = proxyActivities<FlowRunActivities>({
  taskQueue: 'calls',
  startToCloseTimeout: '30s',
  scheduleToCloseTimeout: '2 hours',
  retry: { initialInterval: '1 minute', backoffCoefficient: 5.5, maximumInterval: '30 minutes' },
});

const wake = defineSignal(flowRunSignals.wake);
const cancel = defineSignal(flowRunSignals.cancel);
const stateQuery = defineQuery<FlowRunState | null>(flowRunQueries.state);

/**
 * Before a wait longer than this, in ms, the workflow continues as new, so that it sleeps with a history of a few
 * events.
 */
const LONG_WAIT_MS = 3_600_000;
/** Longest wait before the row is read again, in ms, although every change of it is signaled. */
const MAX_WAIT_MS = 366 * 86_400_000;
/** The same for a run that waits only for a signal. */
const MAX_HOLD_MS = 30 * 86_400_000;

/** The request of a webhook step. */
interface Call {
  stepId: number;
  done: boolean;
  scope: CancellationScope;
}

interface Run {
  runId: number;
  accountId: number;
  state: FlowRunState | null;
  /** Whether a signal has arrived since the row was last read. */
  woken: boolean;
  /** Whether an operator wants to end the run. */
  canceled: boolean;
  call: Call | null;
}

const now = () => new Date().toISOString();

/** Describes a run in Markdown, for an operator. */
function describeFlowRun({ sentence, stepId, steps }: FlowRunState): string {
  const at = stepId === null ? '' : ` It is at step ${stepId}.`;
  return [
    `The run ${sentence}.`,
    '',
    `${steps} ${steps === 1 ? 'step was' : 'steps were'} done.${at} The signal \`cancel\` ends it.`,
  ].join('\n');
}

function showRun(run: Run, state: FlowRunState): void {
  run.state = state;
  setCurrentDetails(describeFlowRun(state));
}

function startRun({ runId, accountId }: FlowRunInput): Run {
  const run: Run = { runId, accountId, state: null, woken: false, canceled: false, call: null };
  setHandler(wake, () => void (run.woken = true));
  setHandler(cancel, () => void (run.canceled = true));
  setHandler(stateQuery, () => run.state);
  return run;
}

const isWoken = (run: Run) => run.woken || run.canceled;

/** Shown until the row has been read for the first time. */
const unseen: FlowRunState = { state: 'active', reason: null, sentence: '', stepId: null, steps: 0 };

async function advance(run: Run): Promise<FlowRunAdvance> {
  if (run.canceled) {
    run.canceled = false;
    await cancelRun(run.runId, now());
  }
  // Reset before the row is read: a signal that arrives during the read is about a newer change.
  run.woken = false;
  const step = await advanceRun(run.runId, now(), run.accountId);
  if (step.next === 'later') {
    const { until, sentence } = step;
    const state = { ...(run.state ?? unseen), sentence };
    showRun(run, state);
    return { next: 'wait', until, state };
  }
  if (step.next !== 'call') endCall(run);
  showRun(run, step.state);
  return step;
}

function endCall(run: Run): void {
  run.call?.scope.cancel();
  run.call = null;
}

function startCall(run: Run, stepId: number): Call {
  const call: Call = { stepId, done: false, scope: new CancellationScope() };
  void call.scope
    .run(() => callWebhook(run.runId, stepId, now()))
    // Whether it was canceled or took too long, the row decides what follows.
    .catch(() => undefined)
    .finally(() => (call.done = true));
  return call;
}

/** Makes the request, or continues to wait for it after a signal has interrupted the wait. */
async function makeCall(run: Run, stepId: number): Promise<void> {
  if (run.call === null || run.call.done || run.call.stepId !== stepId) {
    endCall(run);
    run.call = startCall(run, stepId);
  }
  const { call } = run;
  // This needs no time-out, because the activity ends within two hours.
  await condition(() => call.done || isWoken(run));
}

function waitMsOf(until: string | null): number {
  return until === null ? MAX_HOLD_MS : Math.max(1, Math.min(MAX_WAIT_MS, Date.parse(until) - Date.now()));
}

async function sleep(run: Run, until: string | null, sentence: string): Promise<void> {
  await condition(() => isWoken(run), waitMsOf(until), { summary: sentence });
}

/**
 * The clock of one run, whose progress is in its row. Each step reads the row again, so a second workflow, or a
 * repeated or lost signal, is harmless.
 * @returns how the run ended, for the engine's UI
 */
export async function flowRun(input: FlowRunInput): Promise<FlowRunState> {
  const { asleep, ...fresh } = input;
  const run = startRun(input);
  if (asleep) {
    showRun(run, asleep.state);
    await sleep(run, asleep.until, asleep.state.sentence);
  }
  for (;;) {
    const step = await advance(run);
    if (step.next === 'done') return step.state;
    if (step.next === 'call') {
      await makeCall(run, step.stepId);
      continue;
    }
    const until = step.next === 'wait' ? step.until : null;
    const isLong = step.next === 'wait' && waitMsOf(until) > LONG_WAIT_MS;
    // Handle signals that have arrived first, because the next history will not contain them.
    if ((isLong || workflowInfo().continueAsNewSuggested) && !isWoken(run)) {
      await continueAsNew<typeof flowRun>(
        isLong ? { ...fresh, asleep: { until, state: step.state } } : fresh,
      );
    }
    if (step.next === 'wait') await sleep(run, until, step.state.sentence);
  }
}
