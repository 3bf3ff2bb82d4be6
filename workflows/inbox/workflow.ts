import { condition, proxyActivities } from '@temporalio/workflow';
import { type Run, stepThroughRow } from '../step-through-row.ts';
import {
  type ScanActivities,
  type ScanMailInput,
  type ScanProgress,
  scanQueries,
  scanSignals,
  type ScanState,
} from './contract.ts';
import { describeScan } from './details.ts';

/** Retries while the database or the storage is unavailable. If the scanner is, the activity returns that. */
const { scanMail: scan } = proxyActivities<ScanActivities>({
  taskQueue: 'bulk',
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '30s',
  retry: { initialInterval: '1s', maximumInterval: '1 minute' },
});
const { reportUnscanned } = proxyActivities<ScanActivities>({
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
});

const MINUTE_MS = 60_000;
/** How long after its receipt a mail waits for results. */
const MAX_DELAY_MS = 10 * MINUTE_MS;
/** How long the first attempt may take even after that: the worker may have been down for longer. */
const FIRST_ATTEMPT_MS = MINUTE_MS;
const MIN_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 5 * MINUTE_MS;
/** The pause grows with the age of the mail, so it is the same in a run that continues another. */
const PAUSE_PER_AGE = 0.1;

const beginning: ScanState = {
  phase: 'scanning',
  problem: null,
  retryAt: null,
  files: 0,
  finished: 0,
  reported: false,
};

/** How long the mail waits for results from now on; 0 or less: not any longer. */
function patienceMs({ receivedAt }: ScanMailInput, step: number): number {
  const left = Date.parse(receivedAt) + MAX_DELAY_MS - Date.now();
  return step === 1 ? Math.max(left, FIRST_ATTEMPT_MS) : left;
}

/** When to scan again; no later than the mail arrives in any case. */
function nextAttempt({ receivedAt }: ScanMailInput, reported: boolean): string {
  const ageMs = Date.now() - Date.parse(receivedAt);
  const pauseMs = Math.min(Math.max(ageMs * PAUSE_PER_AGE, MIN_PAUSE_MS), MAX_PAUSE_MS);
  const leftMs = MAX_DELAY_MS - ageMs;
  return new Date(Date.now() + (reported || leftMs <= 0 ? pauseMs : Math.min(pauseMs, leftMs))).toISOString();
}

/** Scans. If the scan takes longer than the mail may wait, the mail arrives meanwhile. */
async function step(input: ScanMailInput, run: Run<ScanState>): Promise<ScanState> {
  run.woken = false;
  const { conversationMessageId: id } = input;
  let { reported } = run.state;
  let progress: ScanProgress | undefined;
  const scanned = scan(id, new Date().toISOString()).then((found) => (progress = found));
  // It is awaited below; until then, a failure must not end the workflow.
  scanned.catch(() => undefined);
  if (!reported) {
    const ms = patienceMs(input, run.step);
    const summary = 'until the mail arrives unscanned';
    if (ms <= 0 || !(await condition(() => progress !== undefined, ms, { summary }))) {
      await reportUnscanned(id);
      reported = true;
    }
  }
  const found = await scanned;
  const retryAt = found.phase === 'waiting' ? nextAttempt(input, reported) : null;
  return { ...found, retryAt, reported };
}

/** Scans one mail until each of its files has a result. @returns the last state, for the engine's UI */
export function scanMail(input: ScanMailInput): Promise<ScanState> {
  return stepThroughRow(input, {
    wake: scanSignals.wake,
    query: scanQueries.state,
    beginning,
    // A step adds about 12 events.
    maxSteps: 250,
    step: (run) => step(input, run),
    describe: (state) => describeScan(input.conversationMessageId, state),
    isDone: ({ state }) => state.phase === 'done',
    waitOf: ({ retryAt }) =>
      retryAt === null
        ? null
        : { ms: Math.max(Date.parse(retryAt) - Date.now(), 1), summary: 'the virus scanner is available' },
  });
}
