import {
  runTopUpType,
  topUpSignals,
  topUpWorkflowId,
  type RunTopUpInput,
} from '../../../workflows/topups/contract.ts';
import { type RowOfWorkflow, workflowsOfTable } from '../../platform/outbox/expected-workflows.ts';
import type { OutboxEntry, WorkflowStart } from '../../platform/temporal/contract.ts';

/** Describes the workflow `topup/<id>`, so that it can be started from the row alone. */
export function topUpStart({ id, accountId }: Pick<RowOfWorkflow, 'id' | 'accountId'>): WorkflowStart {
  const input: RunTopUpInput = { schema: 1, topUpId: id };
  return {
    workflowType: runTopUpType,
    workflowId: topUpWorkflowId(id),
    input: [input],
    searchAttributes: { AccountId: accountId },
    summary: `Top-up ${id} of account ${accountId}`,
    details: `Fills the wallet of account ${accountId} by one payment. A request whose outcome is not known is looked up after a day, and never sent again.`,
  };
}

/** Makes the workflow read its row again. */
export function topUpWake(id: number): OutboxEntry {
  return { kind: 'signal', workflowId: topUpWorkflowId(id), signal: topUpSignals.wake };
}

/** A top-up needs its workflow `topup/<id>` until it has ended. */
export const topUpSource = workflowsOfTable<RowOfWorkflow>({
  name: 'topup',
  table: 'topups',
  hasBrand: false,
  start: topUpStart,
});
