import {
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import {
  flowCohortQueries,
  flowCohortSignals,
  type FlowCohortActivities,
  type FlowCohortGroup,
  type FlowCohortInput,
  type FlowCohortState,
  type FlowCohortStep,
} from './contract.ts';

/** Retries while the database is unavailable. If a worker is killed, another takes over when its heartbeats stop. */
const retry = { initialInterval: '500ms', maximumInterval: '10s' } as const;
const { advanceCohort, cancelCohort } = proxyActivities<FlowCohortActivities>({
  taskQueue: 'cohorts',
  startToCloseTimeout: '5 minutes',
  heartbeatTimeout: '12s',
  retry,
});
/** Requests to endpoints that may not answer. A worker that does not know the activity refuses it; another takes it. */
const { callCohort } = proxyActivities<FlowCohortActivities>({
  taskQueue: 'calls',
  startToCloseTimeout: '5 minutes',
  heartbeatTimeout: '30s',
  retry,
});

const wake = defineSignal(flowCohortSignals.wake);
const cancel = defineSignal(flowCohortSignals.cancel);
const stateQuery = defineQuery<FlowCohortState | null>(flowCohortQueries.state);

/** How long an activity takes due steps before others have their turn, in ms. */
const STAY_MS = 2_000;
/** Minimum time between the beginnings of two stays, in ms, unless more steps are due. */
const TICK_MS = 1_000;
/** Number of events in the history from which on the workflow continues as new. */
const MAX_EVENTS = 1_000;
/** Before a longer wait, in ms, it continues as new, so that it sleeps with a history of a few events. */
const LONG_WAIT_MS = 3_600_000;
/** Longest wait before the rows are read again, in ms, although every change of them is signaled. */
const MAX_WAIT_MS = 366 * 86_400_000;
/** The same for a cohort that waits only for a signal. */
const MAX_HOLD_MS = 30 * 86_400_000;

interface Cohort {
  cohortId: number;
  state: FlowCohortState | null;
  /** Whether a signal has arrived, or requests have ended, since the rows were last read. */
  woken: boolean;
  /** Whether an operator wants to end all runs. */
  canceled: boolean;
  /** Whether requests of webhook steps are being made. */
  calling: boolean;
  /** When the last stay began. */
  tickedAt: number;
}

const now = () => new Date().toISOString();

function describeGroup({ stepId, waitsFor, eventName, count, next }: FlowCohortGroup): string {
  const at = stepId === null ? 'the beginning' : `step ${stepId}`;
  const event = eventName === null ? '' : ` \`${eventName}\``;
  return `| ${at} | ${waitsFor ?? ''}${event} | ${count} | ${next ?? ''} |`;
}

/** Describes a cohort in Markdown, for an operator. */
function describeCohort({ sentence, groups }: FlowCohortState): string {
  const table = [
    '| at | waits for | runs | first at |',
    '| --- | --- | ---: | --- |',
    ...groups.map(describeGroup),
  ];
  const parts = [`${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`, ''];
  if (groups.length > 0) parts.push(...table, '');
  return [...parts, 'The signal `cancel` ends all runs.'].join('\n');
}

function show(cohort: Cohort, state: FlowCohortState): void {
  cohort.state = state;
  setCurrentDetails(describeCohort(state));
}

function startCohort({ cohortId }: FlowCohortInput): Cohort {
  const cohort: Cohort = {
    ...{ cohortId, state: null, woken: false, canceled: false, calling: false },
    tickedAt: -Infinity,
  };
  setHandler(wake, () => void (cohort.woken = true));
  setHandler(cancel, () => void (cohort.canceled = true));
  setHandler(stateQuery, () => cohort.state);
  return cohort;
}

const isWoken = ({ woken, canceled }: Cohort) => woken || canceled;
const unseen: FlowCohortState = { sentence: '', runs: 0, ended: 0, groups: [] };

/** @returns `notBefore`: the stay was refused, because it was not the cohort's turn */
async function advance(cohort: Cohort): Promise<FlowCohortStep & { notBefore?: true }> {
  if (cohort.canceled) {
    cohort.canceled = false;
    await cancelCohort(cohort.cohortId, now());
  }
  // Reset before the rows are read: a signal that arrives during the stay may be about a newer change.
  cohort.woken = false;
  cohort.tickedAt = Date.now();
  const step = await advanceCohort(cohort.cohortId, now(), STAY_MS);
  if (step.next !== 'later') {
    show(cohort, step.state);
    return step;
  }
  const { until, sentence } = step;
  const state = { ...(cohort.state ?? unseen), sentence };
  show(cohort, state);
  return { next: 'wait', until, callsDue: false, state, notBefore: true };
}

/** Makes requests beside the stays. */
function startCalls(cohort: Cohort): void {
  cohort.calling = true;
  void callCohort(cohort.cohortId, now())
    // The rows have what became of the requests.
    .catch(() => undefined)
    .finally(() => {
      cohort.calling = false;
      cohort.woken = true;
    });
}

function waitMsOf(until: string | null): number {
  return until === null ? MAX_HOLD_MS : Math.max(1, Math.min(MAX_WAIT_MS, Date.parse(until) - Date.now()));
}

/**
 * Waits for a time or a signal, and for the next tick.
 * @param notBefore the runs are not taken before the time, so that signals do not matter: each refusal makes the account's
 *   other cohorts wait longer
 */
async function rest(
  cohort: Cohort,
  { until, state: { sentence }, notBefore }: Pick<FlowCohortStep, 'until' | 'state'> & { notBefore?: true },
): Promise<void> {
  const isOver = () => (notBefore ? cohort.canceled : isWoken(cohort));
  await condition(isOver, waitMsOf(until), { summary: sentence });
  const tickMs = cohort.tickedAt + TICK_MS - Date.now();
  if (tickMs > 0) await sleep(tickMs, { summary: 'the next tick' });
}

/** Whether the history is so long that the workflow must continue as new, and so begins no more requests. */
function isFull(): boolean {
  const { historyLength, continueAsNewSuggested } = workflowInfo();
  return historyLength >= MAX_EVENTS || continueAsNewSuggested;
}

/**
 * The input with which the workflow continues as new after a stay; null if it does not. The next history has no requests
 * under way, and a signal to cancel would be lost. It begins with a stay, or with a long wait if no signal has arrived.
 */
function nextInput(cohort: Cohort, fresh: FlowCohortInput, step: FlowCohortStep): FlowCohortInput | null {
  if (cohort.calling || cohort.canceled) return null;
  const { next, until, state } = step;
  const isLong = next === 'wait' && waitMsOf(until) > LONG_WAIT_MS && !cohort.woken;
  if (isLong) return { ...fresh, asleep: { until, state } };
  return isFull() ? fresh : null;
}

/**
 * The clock of up to 1,000 runs of a flow, whose progress is in their rows. Each stay reads the rows again, so a second
 * workflow, or a repeated or lost signal, is harmless.
 * @returns the last state, for the engine's UI
 */
export async function flowCohort(given: FlowCohortInput): Promise<FlowCohortState> {
  const { asleep, ...fresh } = given;
  const cohort = startCohort(given);
  if (asleep) {
    show(cohort, asleep.state);
    await rest(cohort, asleep);
  }
  for (;;) {
    const step = await advance(cohort);
    const { next, callsDue, state } = step;
    if (next === 'done') return state;
    if (callsDue && !cohort.calling && !isFull()) startCalls(cohort);
    const input = nextInput(cohort, fresh, step);
    if (input !== null) await continueAsNew<typeof flowCohort>(input);
    if (next === 'wait') await rest(cohort, step);
  }
}
