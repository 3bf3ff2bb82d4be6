import { ActivityFailure, isCancellation, proxyActivities } from '@temporalio/workflow';
import { stepThroughRow } from '../step-through-row.ts';
import {
  type BulkActionActivities,
  type BulkActionProgress,
  bulkActionSignals,
  type RunBulkActionInput,
} from './contract.ts';

/** Retries for a day while the database is unavailable. */
const { advanceBulkAction } = proxyActivities<BulkActionActivities>({
  taskQueue: 'bulk',
  startToCloseTimeout: '30 minutes',
  scheduleToCloseTimeout: '1 day',
  heartbeatTimeout: '1 minute',
  retry: { initialInterval: '500ms', maximumInterval: '1 minute' },
});
const { failBulkAction } = proxyActivities<BulkActionActivities>({
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
});

const beginning: BulkActionProgress = {
  phase: 'waiting',
  totalCount: null,
  processedCount: 0,
  changedCount: 0,
  failedCount: 0,
};

const phases: Record<BulkActionProgress['phase'], string> = {
  waiting: 'waits for other actions of the account',
  counting: 'counts what matches its filter',
  running: 'changes what matches its filter',
  yielding: 'waits until earlier deleted contacts are cleared',
  done: 'has ended',
};

function describe(id: number, progress: BulkActionProgress): string {
  const { phase, totalCount, processedCount, changedCount, failedCount } = progress;
  return [
    `Bulk action ${id} ${phases[phase]}.`,
    '',
    `- done: ${processedCount} of ${totalCount ?? 'an unknown number'}`,
    `- changed: ${changedCount}, failed: ${failedCount}`,
  ].join('\n');
}

const waits: Partial<Record<BulkActionProgress['phase'], { ms: number; summary: string }>> = {
  waiting: { ms: 15_000, summary: 'other actions of the account' },
  yielding: { ms: 5_000, summary: 'earlier deleted contacts are cleared' },
};

/** Takes the next step. After a final failure, the action ends with an error that the client sees. */
async function advanceOrFail(id: number, progress: BulkActionProgress): Promise<BulkActionProgress> {
  try {
    return await advanceBulkAction(id);
  } catch (error) {
    if (!(error instanceof ActivityFailure) || isCancellation(error)) throw error;
    await failBulkAction(id);
    return { ...progress, phase: 'done', status: 'failed' };
  }
}

/** Executes one bulk action. @returns its final progress */
export function runBulkAction(input: RunBulkActionInput): Promise<BulkActionProgress> {
  const { bulkActionId } = input;
  return stepThroughRow(input, {
    wake: bulkActionSignals.wake,
    beginning,
    maxSteps: 300,
    step(run) {
      run.woken = false;
      return advanceOrFail(bulkActionId, run.state);
    },
    describe: (progress) => describe(bulkActionId, progress),
    isDone: ({ state }) => state.phase === 'done',
    waitOf: ({ phase }) => waits[phase] ?? null,
  });
}
