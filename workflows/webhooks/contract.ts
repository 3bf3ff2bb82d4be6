/** Recovery of one webhook: it lives while the endpoint fails or anything is to be retried. This file imports nothing. */
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
  /** Since when nothing was acknowledged; null: it does not fail. */
  failingSince: string | null;
  /** When its owners were told that it fails. */
  warnedAt: string | null;
  /**
   * When it is turned off, unless it acknowledges something. Null: it does not fail, or it has failed for that long and
   * nothing was attempted lately, so that the next failed attempt turns it off.
   */
  disableAt: string | null;
  /** Deliveries that wait for a retry, counted up to 10,000. */
  retrying: number;
  nextAttemptAt: string | null;
  /** While sleeping: the first of all that is to come. */
  sleepsUntil: string | null;
  /** In this run of the workflow. */
  attempted: number;
  delivered: number;
}
