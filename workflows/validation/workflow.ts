import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import {
  type RunValidationInput,
  type ValidationActivities,
  validationQueries,
  validationSignals,
  type ValidationState,
} from './contract.ts';
import { describeValidation } from './details.ts';

/** Long pieces of work go to the queue on which they delay nothing short. Retried while the database is unavailable. */
const { advanceValidation } = proxyActivities<ValidationActivities>({
  taskQueue: 'bulk',
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '30s',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
});

const wake = defineSignal(validationSignals.wake);
const stateQuery = defineQuery<ValidationState>(validationQueries.state);

/** A step adds about 10 events. */
const MAX_STEPS = 300;
const LOOK_AGAIN_MS = 15_000;
/** The longest wait for a mail server that asked for another attempt. */
const MAX_RETRY_WAIT_MS = 15 * 60_000;

const beginning: ValidationState = { phase: 'waiting', retryAt: null, candidateCount: 0, checkedCount: 0 };

/** How long to wait before the next step; null: not at all. */
function waitOf({ phase, retryAt }: ValidationState): { ms: number; summary: string } | null {
  if (phase === 'waiting') return { ms: LOOK_AGAIN_MS, summary: 'another validation of the account' };
  if (phase !== 'retrying' || retryAt === null) return null;
  const ms = Math.min(Math.max(Date.parse(retryAt) - Date.now(), 1_000), MAX_RETRY_WAIT_MS);
  return { ms, summary: 'mail servers that asked for another attempt' };
}

/**
 * Runs one validation operation. What is done is in the database: each step reads the row again and goes on from there,
 * so that a second run does no harm. The step that ends the operation settles it.
 * @returns how many addresses were checked, for the engine's UI
 */
export async function runValidation(input: RunValidationInput): Promise<ValidationState> {
  const { operationId } = input;
  let state = beginning;
  let woken = false;
  setHandler(wake, () => void (woken = true));
  setHandler(stateQuery, () => state);
  for (let step = 1; ; step += 1) {
    woken = false;
    state = await advanceValidation(operationId, new Date().toISOString());
    setCurrentDetails(describeValidation(operationId, state));
    // A signal that arrived meanwhile may be that of an operation that resumes: the step may not have seen it.
    if (state.phase === 'done' && !woken) return state;
    const wait = waitOf(state);
    if (wait) await condition(() => woken, wait.ms, { summary: wait.summary });
    if (step >= MAX_STEPS || workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished, '1 minute');
      await continueAsNew<typeof runValidation>(input);
    }
  }
}
