import {
  exportSignals,
  exportWorkflowId,
  runExportType,
  type RunExportInput,
} from '../../../workflows/exports/contract.ts';
import { type RowOfWorkflow, workflowsOfTable } from '../../platform/outbox/expected-workflows.ts';
import type { OutboxEntry, WorkflowStart } from '../../platform/temporal/contract.ts';

/** An export for its workflow. */
export interface StartedExport extends RowOfWorkflow {
  resource: string;
}

/** Describes the workflow `export/<id>`, which can be started from the row alone. */
export function exportStart({ id, accountId, brandId, resource }: StartedExport): WorkflowStart {
  const input: RunExportInput = { schema: 1, exportId: id };
  return {
    workflowType: runExportType,
    workflowId: exportWorkflowId(id),
    input: [input],
    searchAttributes: { AccountId: accountId, BrandId: brandId },
    summary: `Export ${id} of brand ${brandId}: ${resource}`,
    details: `Writes the ${resource} of brand ${brandId} (account ${accountId}) to a CSV file in parts, and resumes after the last part that is complete.`,
  };
}

/** Makes the workflow read its row again. */
export function exportWake(id: number): OutboxEntry {
  return { kind: 'signal', workflowId: exportWorkflowId(id), signal: exportSignals.wake };
}

/** An export needs its workflow `export/<id>` until it has ended. */
export const exportSource = workflowsOfTable<StartedExport>({
  name: 'export',
  table: 'exports',
  columns: ['resource'],
  start: exportStart,
});
