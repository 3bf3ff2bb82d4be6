import {
  runValidationType,
  type RunValidationInput,
  validationSignals,
  validationWorkflowId,
} from '../../../workflows/validation/contract.ts';
import { type RowOfWorkflow, workflowsOfTable } from '../../platform/outbox/expected-workflows.ts';
import type { OutboxEntry, WorkflowStart } from '../../platform/temporal/contract.ts';

/** Describes the workflow `validation/<id>`, so that it can be started from the row alone. */
export function validationStart({ id, accountId, brandId }: RowOfWorkflow): WorkflowStart {
  const input: RunValidationInput = { schema: 1, operationId: id };
  return {
    workflowType: runValidationType,
    workflowId: validationWorkflowId(id),
    input: [input],
    searchAttributes: { AccountId: accountId, BrandId: brandId },
    summary: `Validation ${id} of addresses of brand ${brandId}`,
    details: `Validation ${id} (account ${accountId}, brand ${brandId}): takes its candidates, checks their addresses in pages, and is settled once when it ends. Each page commits its results, so it may be interrupted at any moment.`,
  };
}

/** Signals the workflow that its row changed. Starts the workflow if it is not running. */
export function validationWake(row: RowOfWorkflow): OutboxEntry {
  return { kind: 'signal_with_start', ...validationStart(row), signal: validationSignals.wake };
}

/** Every operation needs its workflow `validation/<id>` until it has ended. */
export const validationSource = workflowsOfTable({
  name: 'validation',
  table: 'validation_operations',
  start: validationStart,
});
