import {
  webhookRecoveryType,
  webhookSignals,
  webhookWorkflowId,
  type WebhookRecoveryInput,
} from '../../../workflows/webhooks/contract.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { appendToOutbox } from '../../platform/outbox/append.ts';
import { type RowOfWorkflow, workflowsOfTable } from '../../platform/outbox/expected-workflows.ts';
import type { OutboxEntry, WorkflowStart } from '../../platform/temporal/contract.ts';

/** How late a workflow may be before the reconciler checks that it is running. */
export const ENGINE_GRACE_MS = 60_000;

/** The webhook that a recovery workflow works for. */
export type RecoveredWebhook = RowOfWorkflow;

/** Describes the workflow `webhook/<id>`, so that it can be started from the row alone. */
export function recoveryStart({ id, accountId, brandId }: RecoveredWebhook): WorkflowStart {
  const input: WebhookRecoveryInput = { schema: 1, webhookId: id };
  return {
    workflowType: webhookRecoveryType,
    workflowId: webhookWorkflowId(id),
    input: [input],
    searchAttributes: { AccountId: accountId, BrandId: brandId, WebhookId: id },
    summary: `Webhook ${id} of brand ${brandId}`,
    details: `Retries deliveries that webhook ${id} (account ${accountId}, brand ${brandId}) did not acknowledge. While the webhook fails, warns its owners after a day and turns it off after three.`,
  };
}

/** Signals the workflow that its row changed. Starts the workflow if it is not running. */
export function recoveryWake(webhook: RecoveredWebhook): OutboxEntry {
  return { kind: 'signal_with_start', ...recoveryStart(webhook), signal: webhookSignals.wake };
}

/**
 * Makes the workflow attempt due retries now: arms it, or brings its wake-up forward, and signals it.
 * Call `waker.wake('outbox')` after the commit.
 * @param trx a transaction that has locked the webhook
 */
export async function wakeRecoveryNow(trx: Queryable, webhook: RecoveredWebhook): Promise<void> {
  await trx.query(
    `update webhooks set recovery_armed = true, next_wake_at = least(next_wake_at, now()),
       engine_expected_by = least(engine_expected_by, now() + make_interval(secs => $2))
     where id = $1`,
    [webhook.id, ENGINE_GRACE_MS / 1_000],
  );
  await appendToOutbox(trx, recoveryWake(webhook));
}

/** Every armed webhook needs its workflow `webhook/<id>`. */
export const webhookSource = workflowsOfTable<RecoveredWebhook>({
  name: 'webhook',
  table: 'webhooks',
  needed: 'recovery_armed',
  start: recoveryStart,
});
