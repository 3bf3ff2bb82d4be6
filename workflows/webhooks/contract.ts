/** Recovery of one webhook: it retries what failed, while anything is to be retried. This file imports nothing. */
export const webhookRecoveryType = 'webhookRecovery';

/** What the workflow starts with, and carries into its next run. */
export interface WebhookRecoveryInput {
  schema: 1;
  webhookId: number;
}

export function webhookWorkflowId(webhookId: number): string {
  return `webhook/${webhookId}`;
}

/** Signals, without arguments. */
export const webhookSignals = {
  /** From Carillon: the webhook's row or its retries changed; read them again. */
  wake: 'wake',
  /** An operator's: attempt everything that waits for a retry now. */
  retryNow: 'retryNow',
} as const;

/** Queries. */
export const webhookQueries = { state: 'state' } as const;

/** What the workflow waits for, as the query and the current details tell it; times are ISO 8601. */
export interface WebhookRecoveryState {
  phase: 'planning' | 'delivering' | 'sleeping' | 'done';
  failingSince: string | null;
  /** Deliveries that wait for a retry. */
  retrying: number;
  nextAttemptAt: string | null;
  /** In this run of the workflow. */
  attempted: number;
  delivered: number;
}
