/**
 * Limits the requests of webhook steps that a worker makes at once. An endpoint that does not respond must not hold up
 * other accounts or hosts.
 */
import { createRetrySpacing, type RetrySpacing } from './retry-spacing.ts';

/** Maximum number of concurrent requests of one account. */
const MAX_OF_ACCOUNT = 20;
/** Maximum number of concurrent requests to one host, from all accounts. */
const MAX_OF_HOST = 50;
/** Minimum time before a request that must wait comes back, in ms. */
const MIN_WAIT_MS = 1_000;
/** Expected duration of a request before any has been measured, in ms. */
const FIRST_GUESS_MS = 1_000;

/** The request must wait because too many others are under way. This does not count as an attempt. */
export class CallWaitsError extends Error {
  readonly delayMs: number;

  constructor(reason: string, delayMs: number) {
    super(reason);
    this.delayMs = delayMs;
  }
}

export interface CallTurns {
  /**
   * Runs `work` if the limits of the account and the host allow another request.
   * @param host of the URL; empty if it has none
   * @throws CallWaitsError
   */
  run<T>(accountId: number, host: string, work: () => Promise<T>): Promise<T>;
}

/** @returns how long a request must wait, in ms; 0 if it may start */
function waitMsOf(spacing: RetrySpacing<string>, key: string, max: number): number {
  return spacing.count(key) < max ? 0 : spacing.laterMs(key, spacing.meanMs(key));
}

/** @param now in milliseconds; the clock of the process by default */
export function createCallTurns(now: () => number = () => performance.now()): CallTurns {
  const settings = { minWaitMs: MIN_WAIT_MS, firstGuessMs: FIRST_GUESS_MS, now };
  const accounts = createRetrySpacing<string>({ atOnce: MAX_OF_ACCOUNT, ...settings });
  const hosts = createRetrySpacing<string>({ atOnce: MAX_OF_HOST, ...settings });

  return {
    async run(accountId, host, work) {
      const account = String(accountId);
      const forAccount = waitMsOf(accounts, account, MAX_OF_ACCOUNT);
      if (forAccount > 0) {
        throw new CallWaitsError(
          `waits: ${MAX_OF_ACCOUNT} requests of the account are under way`,
          forAccount,
        );
      }
      const forHost = waitMsOf(hosts, host, MAX_OF_HOST);
      if (forHost > 0) {
        throw new CallWaitsError(`waits: ${MAX_OF_HOST} requests to the host are under way`, forHost);
      }
      const entries = [accounts.enter(account), hosts.enter(host)];
      for (const entry of entries) entry.begin();
      try {
        return await work();
      } finally {
        for (const entry of entries) entry.leave();
      }
    },
  };
}
