import {
  importSignals,
  importWorkflowId,
  runImportType,
  type RunImportInput,
} from '../../../workflows/imports/contract.ts';
import { type RowOfWorkflow, workflowsOfTable } from '../../platform/outbox/expected-workflows.ts';
import type { OutboxEntry, WorkflowStart } from '../../platform/temporal/contract.ts';

/** An import that needs its workflow. */
export interface RunningImport extends RowOfWorkflow {
  resource: string;
}

/** Describes the workflow `import/<id>`, which can be started from the row alone. */
export function importStart({ id, accountId, brandId, resource }: RunningImport): WorkflowStart {
  const input: RunImportInput = { schema: 1, importId: id, accountId };
  return {
    workflowType: runImportType,
    workflowId: importWorkflowId(id),
    input: [input],
    searchAttributes: { AccountId: accountId, BrandId: brandId },
    summary: `Import ${id} of ${resource} into brand ${brandId}`,
    details: `Import ${id} (account ${accountId}, brand ${brandId}): looks through the file, imports its rows in chunks, and removes the file. Each chunk commits with its counts and its place in the file, so it may be interrupted at any moment.`,
  };
}

/** Signals to the workflow that its row changed. Starts the workflow if it is not running. */
export function importWake(running: RunningImport): OutboxEntry {
  return { kind: 'signal_with_start', ...importStart(running), signal: importSignals.wake };
}

/** Every import needs its workflow `import/<id>` until it has ended and its file is gone. */
export const importSource = workflowsOfTable<RunningImport>({
  name: 'import',
  table: 'imports',
  columns: ['resource'],
  start: importStart,
});
