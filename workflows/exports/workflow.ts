import {
  ActivityFailure,
  allHandlersFinished,
  condition,
  continueAsNew,
  defineSignal,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
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
/** Retried while the database or the disk is unavailable. An export ends a day after its start in any case. */
const { planExport, writeExport } = proxyActivities<ExportActivities>({
  taskQueue: 'bulk',
  startToCloseTimeout: '30 minutes',
  scheduleToCloseTimeout: '1 day',
  heartbeatTimeout: '1 minute',
  retry: { initialInterval: '1s', maximumInterval: '1 minute' },
});

const wake = defineSignal(exportSignals.wake);

/** While the account has other exports under way. */
const WAIT = '15s';
const MAX_ROUNDS = 500;

const states: Record<ExportProgress['state'], string> = {
  waiting: 'waits for other exports of the account',
  counting: 'counts its rows',
  writing: 'writes its file',
  final: 'has ended',
};

function show(exportId: number, { state, processedRows, totalRows }: ExportProgress): void {
  setCurrentDetails(
    `Export ${exportId} ${states[state]}.\n\n- rows: ${processedRows} of ${totalRows ?? 'an unknown number'}`,
  );
}

const now = (): string => new Date().toISOString();

function next(exportId: number, { state }: ExportProgress): Promise<ExportProgress> {
  if (state === 'counting') return planExport(exportId, now());
  if (state === 'writing') return writeExport(exportId, now());
  return beginExport(exportId, now());
}

/** Does the next step. If it fails for good, the export ends with an error that the client sees. */
async function nextOrFail(exportId: number, progress: ExportProgress): Promise<ExportProgress> {
  try {
    return await next(exportId, progress);
  } catch (error) {
    if (!(error instanceof ActivityFailure) || isCancellation(error)) throw error;
    await failExport(exportId);
    return { ...progress, state: 'final', status: 'failed' };
  }
}

/**
 * Writes one export. Every step reads the row again, so that a second run does no harm.
 * @returns how many rows it has, for the engine's UI
 */
export async function runExport(input: RunExportInput): Promise<ExportProgress> {
  const { exportId } = input;
  let woken = false;
  setHandler(wake, () => void (woken = true));
  let progress = await beginExport(exportId, now());
  show(exportId, progress);
  for (let round = 1; progress.state !== 'final'; round += 1) {
    if (round >= MAX_ROUNDS || workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished, '1 minute');
      await continueAsNew<typeof runExport>(input);
    }
    if (progress.state === 'waiting') {
      await condition(() => woken, WAIT, { summary: 'room for one more export of the account' });
      woken = false;
    }
    progress = await nextOrFail(exportId, progress);
    show(exportId, progress);
  }
  return progress;
}
