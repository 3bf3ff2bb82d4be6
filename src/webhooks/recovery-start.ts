import {
  webhookRecoveryType,
  webhookSignals,
  webhookWorkflowId,
  type WebhookRecoveryInput,
} from '../../workflows/webhooks/contract.ts';
import type { OutboxEntry, WorkflowStart } from '../outbox/service.ts';

/** How long after its time a workflow may be before the reconciler looks for it. */
export const ENGINE_GRACE_MS = 60_000;

/** Whose recovery it is. */
export interface RecoveredWebhook {
  id: number;
  accountId: number;
  brandId: number;
}

/** How to start the workflow `webhook/<id>` from nothing but the row. */
export function recoveryStart({ id, accountId, brandId }: RecoveredWebhook): WorkflowStart {
  const input: WebhookRecoveryInput = { schema: 1, webhookId: id };
  return {
    workflowType: webhookRecoveryType,
    workflowId: webhookWorkflowId(id),
    input: [input],
    searchAttributes: { AccountId: accountId, BrandId: brandId, WebhookId: id },
    summary: `Webhook ${id} of brand ${brandId}`,
    details: `Retries what webhook ${id} (account ${accountId}, brand ${brandId}) did not acknowledge; while it fails, warns its owners after a day and turns it off after three.`,
  };
}

/** Tell it that its row changed, started first where it does not run. */
export function recoveryWake(webhook: RecoveredWebhook): OutboxEntry {
  return { kind: 'signal_with_start', ...recoveryStart(webhook), signal: webhookSignals.wake };
}
