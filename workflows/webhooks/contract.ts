/**
 * The recovery of one webhook endpoint, which runs while the endpoint fails or retries are waiting. This file imports
 * nothing.
 */
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
  /** From Carillon: read the webhook's row and its retries again, because they have changed. */
  wake: 'wake',
  /** From an operator: attempt everything now that waits for a retry. */
  retryNow: 'retryNow',
} as const;

/** Queries. */
export const webhookQueries = { state: 'state' } as const;

/** What the workflow does and waits for, as the query and the current details show it. Times are ISO 8601. */
export interface WebhookRecoveryState {
  phase: 'planning' | 'delivering' | 'sleeping' | 'done';
  /** Since when the endpoint has acknowledged nothing; null if it does not fail. */
  failingSince: string | null;
  /** When the account's owners were warned. */
  warnedAt: string | null;
  /**
   * When the webhook will be turned off unless it acknowledges something before. Null if it does not fail, or if it has
   * failed for long enough but nothing was attempted recently; in that case, the next failed attempt turns it off.
   */
  disableAt: string | null;
  /** Number of webhook deliveries that wait for a retry, counted up to 10,000. */
  retrying: number;
  nextAttemptAt: string | null;
  /** While sleeping: the time of the next action. */
  sleepsUntil: string | null;
  /** Number of attempts in this run of the workflow. */
  attempted: number;
  delivered: number;
}

/** The plan that follows from the webhook's row. Times are in ISO 8601. */
export interface WebhookRecoveryStep {
  phase: 'done' | 'due' | 'sleep';
  until: string | null;
  failingSince: string | null;
  warnedAt: string | null;
  disableAt: string | null;
  retrying: number;
  nextAttemptAt: string | null;
}

/** What one activity has done so far. */
export interface WebhookRecoveryProgress {
  attempted: number;
  delivered: number;
}

/** Each activity takes the workflow's time at the call, `asOf`, in ISO 8601. */
export interface WebhookActivities {
  /** Reads the row, warns the owners or turns the webhook off if that is due, and returns what to do next. */
  planWebhookRecovery(webhookId: number, asOf: string): Promise<WebhookRecoveryStep>;
  /** Makes the attempts that are due. It reports progress by heartbeats, which add no events to the history. */
  deliverDueRetries(webhookId: number, asOf: string): Promise<WebhookRecoveryProgress>;
  /** Makes everything due now that waits for a retry. */
  hastenWebhookRetries(webhookId: number, asOf: string): Promise<void>;
}
