import {
  inboxScanWorkflowId,
  scanMailType,
  type ScanMailInput,
} from '../../../../workflows/inbox/contract.ts';
import { type RowOfWorkflow, workflowsOfTable } from '../../../platform/outbox/expected-workflows.ts';
import type { WorkflowStart } from '../../../platform/temporal/contract.ts';

/** A message that is to be scanned: its `scan_state` is `pending`. */
export interface MailToScan extends RowOfWorkflow {
  received_at: Date;
}

/** How long a scan's workflow need not be active: the value of `engine_expected_by` when it is started, from now. */
export const SCAN_GRACE = `interval '10 minutes'`;

/** Describes the workflow `inbox-scan/<id>`, so that it can be started from the row alone. */
export function scanStart({ id, accountId, brandId, received_at: receivedAt }: MailToScan): WorkflowStart {
  const input: ScanMailInput = { schema: 1, conversationMessageId: id, receivedAt: receivedAt.toISOString() };
  return {
    workflowType: scanMailType,
    workflowId: inboxScanWorkflowId(id),
    input: [input],
    searchAttributes: { AccountId: accountId, BrandId: brandId },
    summary: `Virus scan of mail ${id} of brand ${brandId}`,
    details: `Scans the attachments of mail ${id} (account ${accountId}, brand ${brandId}) and the mail itself. It then arrives in its conversation; after ten minutes it arrives unscanned. Each result is stored, so it may be interrupted at any moment.`,
  };
}

/** A message needs its workflow until each of its files has a result. */
export const scanSource = workflowsOfTable<MailToScan>({
  name: 'inbox-scan',
  table: 'conversation_messages',
  columns: ['received_at'],
  start: scanStart,
});
