import { ActivityFailure, condition, isCancellation, proxyActivities } from '@temporalio/workflow';
import { type Run, stepThroughRow } from '../step-through-row.ts';
import {
  exportSignals,
  type ExportActivities,
  type ExportProgress,
  type RunExportInput,
} from './contract.ts';

const { beginExport, failExport } = proxyActivities<ExportActivities>({
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '500ms', maximumInterval: '10s' },
});
/** Retries while the database or the disk is unavailable. An export ends a day after its start in any case. */
const { planExport, writeExport } = proxyActivities<ExportActivities>({
  taskQueue: 'bulk',
  startToCloseTimeout: '30 minutes',
  scheduleToCloseTimeout: '1 day',
  heartbeatTimeout: '1 minute',
  retry: { initialInterval: '1s', maximumInterval: '1 minute' },
});

/** Pause between attempts to start while the account runs other exports. */
const WAIT = '15s';

const beginning: ExportProgress = { state: 'waiting', processedRows: 0, totalRows: null };

const states: Record<ExportProgress['state'], string> = {
  waiting: 'waits for other exports of the account',
  counting: 'counts its rows',
  writing: 'writes its file',
  final: 'has ended',
};

function describe(exportId: number, { state, processedRows, totalRows }: ExportProgress): string {
  return `Export ${exportId} ${states[state]}.\n\n- rows: ${processedRows} of ${totalRows ?? 'an unknown number'}`;
}

const now = (): string => new Date().toISOString();

function next(exportId: number, { state }: ExportProgress): Promise<ExportProgress> {
  if (state === 'counting') return planExport(exportId, now());
  if (state === 'writing') return writeExport(exportId, now());
  return beginExport(exportId, now());
}

/** Takes the next step. After a final failure, the export ends with an error that the client sees. */
async function nextOrFail(exportId: number, progress: ExportProgress): Promise<ExportProgress> {
  try {
    return await next(exportId, progress);
  } catch (error) {
    if (!(error instanceof ActivityFailure) || isCancellation(error)) throw error;
    await failExport(exportId);
    return { ...progress, state: 'final', status: 'failed' };
  }
}

/** The wait for other exports is part of the step after it, because a run continues as new before the wait. */
async function step(exportId: number, run: Run<ExportProgress>): Promise<ExportProgress> {
  if (run.step === 1) return beginExport(exportId, now());
  if (run.state.state === 'waiting') {
    await condition(() => run.woken, WAIT, { summary: 'room for one more export of the account' });
    run.woken = false;
  }
  return nextOrFail(exportId, run.state);
}

/** Writes one export. @returns the final progress, with its number of rows */
export function runExport(input: RunExportInput): Promise<ExportProgress> {
  const { exportId } = input;
  return stepThroughRow(input, {
    wake: exportSignals.wake,
    beginning,
    maxSteps: 500,
    step: (run) => step(exportId, run),
    describe: (progress) => describe(exportId, progress),
    isDone: ({ state: { state } }) => state === 'final',
  });
}
