/** One payment that fills a wallet. This file imports nothing. */
export const runTopUpType = 'runTopUp';

export interface RunTopUpInput {
  schema: 1;
  topUpId: number;
}

export function topUpWorkflowId(topUpId: number): string {
  return `topup/${topUpId}`;
}

/** Signals, without arguments. */
export const topUpSignals = {
  /** From Carillon: read the row again, because the payment service has reported the payment. */
  wake: 'wake',
  /** From an operator: ask the payment service now. */
  look: 'look',
} as const;

/**
 * The progress of a top-up. `not_sent`: the payment service has not processed the request, so it may be sent again.
 * `unknown`: the service may have made the payment. `paying`: the service has the payment, but has not decided.
 * `final`: the wallet is filled, or the top-up has failed.
 */
export interface TopUpStep {
  state: 'not_sent' | 'unknown' | 'paying' | 'final';
  /** When to ask the payment service, in ISO 8601. */
  lookAt: string;
  /** The status of the row, as clients see it. Activities of earlier versions do not return it. */
  status?: string;
}

/** `asOf` is the workflow's time at the call, in ISO 8601. */
export interface TopUpActivities {
  /** Sends the request, unless it has already been sent. */
  requestTopUp(topUpId: number, asOf: string): Promise<TopUpStep>;
  /**
   * Asks the payment service for the state of the payment, if that is due.
   * @param force ask even if it is not due
   */
  lookAtTopUp(topUpId: number, asOf: string, force: boolean): Promise<TopUpStep>;
  /** Ends a top-up whose request the service has not processed for too long. */
  giveUpTopUp(topUpId: number, asOf: string): Promise<TopUpStep>;
}
