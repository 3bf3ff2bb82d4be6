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
  importQueries,
  importSignals,
  type ImportActivities,
  type ImportState,
  type RunImportInput,
} from './contract.ts';
import { describeImport } from './details.ts';

/** Long pieces of work go to the queue on which they delay nothing short. Retried while the database is unavailable. */
const { advanceImport } = proxyActivities<ImportActivities>({
  taskQueue: 'bulk',
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '30s',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
});

const wake = defineSignal(importSignals.wake);
const stateQuery = defineQuery<ImportState>(importQueries.state);

/** A step adds about 10 events. */
const MAX_STEPS = 300;
const LOOK_AGAIN_MS = 15_000;

const beginning: ImportState = {
  phase: 'waiting',
  totalRows: null,
  createdCount: 0,
  updatedCount: 0,
  unchangedCount: 0,
  duplicateCount: 0,
  failedCount: 0,
};

/**
 * Runs one import. What is done is in the database: each step reads the row again and goes on from there, so that a
 * second run does no harm.
 * @returns how many rows had which outcome, for the engine's UI
 */
export async function runImport(input: RunImportInput): Promise<ImportState> {
  const { importId } = input;
  let state = beginning;
  let woken = false;
  setHandler(wake, () => void (woken = true));
  setHandler(stateQuery, () => state);
  for (let step = 1; ; step += 1) {
    woken = false;
    state = await advanceImport(importId);
    setCurrentDetails(describeImport(importId, state));
    if (state.phase === 'done') return state;
    if (state.phase === 'waiting') {
      await condition(() => woken, LOOK_AGAIN_MS, { summary: 'other imports of the account' });
    }
    if (step >= MAX_STEPS || workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished, '1 minute');
      await continueAsNew<typeof runImport>(input);
    }
  }
}
