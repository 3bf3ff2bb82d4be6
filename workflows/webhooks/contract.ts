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

/** What a look at the webhook's row decides. Times are ISO 8601. */
export interface WebhookRecoveryStep {
  phase: 'done' | 'due' | 'sleep';
  until: string | null;
  failingSince: string | null;
  warnedAt: string | null;
  disableAt: string | null;
  retrying: number;
  nextAttemptAt: string | null;
}

/** How far a stay at an endpoint has got. */
export interface WebhookRecoveryProgress {
  attempted: number;
  delivered: number;
}

/** Each takes the workflow's time at the call, `asOf`, in ISO 8601. */
export interface WebhookActivities {
  /** Reads the row, warns the owners or turns the webhook off if that is due, and says what to do next. */
  planWebhookRecovery(webhookId: number, asOf: string): Promise<WebhookRecoveryStep>;
  /** Makes the attempts that are due. Its heartbeats report the progress, which adds no event to the history. */
  deliverDueRetries(webhookId: number, asOf: string): Promise<WebhookRecoveryProgress>;
  /** Makes everything that waits for a retry due now. */
  hastenWebhookRetries(webhookId: number, asOf: string): Promise<void>;
}
