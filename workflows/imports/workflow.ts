import { proxyActivities } from '@temporalio/workflow';
import { stepThroughRow } from '../step-through-row.ts';
import {
  importQueries,
  importSignals,
  type ImportActivities,
  type ImportState,
  type RunImportInput,
} from './contract.ts';
import { describeImport } from './details.ts';

/**
 * Long pieces of work have their own queue, so that they do not delay short ones. Retries while the database is
 * unavailable.
 */
const { advanceImport } = proxyActivities<ImportActivities>({
  taskQueue: 'bulk',
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '30s',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
});

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

/** Executes one import. @returns the number of rows by outcome */
export function runImport(input: RunImportInput): Promise<ImportState> {
  const { importId } = input;
  return stepThroughRow(input, {
    wake: importSignals.wake,
    query: importQueries.state,
    beginning,
    // A step adds about 10 events.
    maxSteps: 300,
    step(run) {
      run.woken = false;
      return advanceImport(importId);
    },
    describe: (state) => describeImport(importId, state),
    isDone: ({ state }) => state.phase === 'done',
    waitOf: ({ phase }) =>
      phase === 'waiting' ? { ms: LOOK_AGAIN_MS, summary: 'other imports of the account' } : null,
  });
}
