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
  /** From Carillon: read the row again. The payment service has reported the payment. */
  wake: 'wake',
  /** From an operator: look at the payment service now. */
  look: 'look',
} as const;

/**
 * Where a top-up is. `not_sent`: the payment service has not looked at the request, so it may be sent once more.
 * `unknown`: the service may have made the payment. `paying`: the service has the payment and has not decided.
 * `final`: the wallet is filled, or the top-up has failed.
 */
export interface TopUpStep {
  state: 'not_sent' | 'unknown' | 'paying' | 'final';
  /** When to look at the payment service, ISO 8601. */
  lookAt: string;
  /** Of the row, as a client sees it. Activities of earlier versions did not return it. */
  status?: string;
}

/** `asOf` is the workflow's time at the call, in ISO 8601. */
export interface TopUpActivities {
  /** Sends the request, unless it was sent before. */
  requestTopUp(topUpId: number, asOf: string): Promise<TopUpStep>;
  /**
   * Asks the payment service what became of the payment, if that is due.
   * @param force ask even if it is not due
   */
  lookAtTopUp(topUpId: number, asOf: string, force: boolean): Promise<TopUpStep>;
  /** Ends a top-up whose request the service has not looked at for too long. */
  giveUpTopUp(topUpId: number, asOf: string): Promise<TopUpStep>;
}
