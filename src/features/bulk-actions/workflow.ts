import {
  bulkActionSignals,
  bulkActionWorkflowId,
  type RunBulkActionInput,
  runBulkActionType,
} from '../../../workflows/bulk-actions/contract.ts';
import { type RowOfWorkflow, workflowsOfTable } from '../../platform/outbox/expected-workflows.ts';
import type { OutboxEntry, WorkflowStart } from '../../platform/temporal/contract.ts';

/** A bulk action that needs its workflow. */
export interface StartedBulkAction extends RowOfWorkflow {
  action: string;
}

/** Describes the workflow `bulk/<id>`, which can be started from the row alone. */
export function bulkActionStart({ id, accountId, brandId, action }: StartedBulkAction): WorkflowStart {
  const input: RunBulkActionInput = { schema: 1, bulkActionId: id };
  return {
    workflowType: runBulkActionType,
    workflowId: bulkActionWorkflowId(id),
    input: [input],
    searchAttributes: { AccountId: accountId, BrandId: brandId },
    summary: `Bulk action ${id} of brand ${brandId}: ${action}`,
    details: `Bulk action ${id} (account ${accountId}, brand ${brandId}): counts what matches its filter, and changes it in pages. Each page commits with its counts and its place, so it may be interrupted at any moment.`,
  };
}

/** Makes the workflow read its row again. */
export function bulkActionWake(id: number): OutboxEntry {
  return { kind: 'signal', workflowId: bulkActionWorkflowId(id), signal: bulkActionSignals.wake };
}

/** A bulk action needs its workflow `bulk/<id>` until it has ended. */
export const bulkActionSource = workflowsOfTable<StartedBulkAction>({
  name: 'bulk action',
  table: 'bulk_actions',
  columns: ['action'],
  start: bulkActionStart,
});
