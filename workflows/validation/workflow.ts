import { proxyActivities } from '@temporalio/workflow';
import { stepThroughRow } from '../step-through-row.ts';
import {
  type RunValidationInput,
  type ValidationActivities,
  validationQueries,
  validationSignals,
  type ValidationState,
} from './contract.ts';
import { describeValidation } from './details.ts';

/**
 * Long pieces of work have their own queue, so that they do not delay short ones. Retries while the database is
 * unavailable.
 */
const { advanceValidation } = proxyActivities<ValidationActivities>({
  taskQueue: 'bulk',
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '30s',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
});

const LOOK_AGAIN_MS = 15_000;
/** Longest wait for a mail server that asked for another attempt. */
const MAX_RETRY_WAIT_MS = 15 * 60_000;

const beginning: ValidationState = { phase: 'waiting', retryAt: null, candidateCount: 0, checkedCount: 0 };

/** How long to wait before the next step; null if there is no wait. */
function waitOf({ phase, retryAt }: ValidationState): { ms: number; summary: string } | null {
  if (phase === 'waiting') return { ms: LOOK_AGAIN_MS, summary: 'another validation of the account' };
  if (phase !== 'retrying' || retryAt === null) return null;
  const ms = Math.min(Math.max(Date.parse(retryAt) - Date.now(), 1_000), MAX_RETRY_WAIT_MS);
  return { ms, summary: 'mail servers that asked for another attempt' };
}

/** Executes one validation operation; its last step settles it. @returns how many addresses were checked */
export function runValidation(input: RunValidationInput): Promise<ValidationState> {
  const { operationId } = input;
  return stepThroughRow(input, {
    wake: validationSignals.wake,
    query: validationQueries.state,
    beginning,
    // A step adds about 10 events.
    maxSteps: 300,
    step(run) {
      run.woken = false;
      return advanceValidation(operationId, new Date().toISOString());
    },
    describe: (state) => describeValidation(operationId, state),
    // A signal that arrived during the step may be a resume that the step has not seen.
    isDone: ({ state, woken }) => state.phase === 'done' && !woken,
    waitOf,
  });
}
