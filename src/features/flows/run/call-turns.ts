/**
 * Limits the requests of webhook steps that a worker makes at once. An endpoint that does not respond must not hold up
 * other accounts or hosts.
 */
import { createRetrySpacing, type RetrySpacing } from './retry-spacing.ts';

/** Maximum number of concurrent requests of one account. */
const MAX_OF_ACCOUNT = 20;
/**
 * Cohorts make no further request of an account while it has as many under way. A cohort starts the next request as soon
 * as one ends, so it would leave nothing to runs that come back after a wait.
 */
export const MAX_OF_COHORTS = 15;
/** Maximum number of concurrent requests to one host, from all accounts. */
const MAX_OF_HOST = 50;
/** Minimum time before a request that must wait comes back, in ms. */
const MIN_WAIT_MS = 1_000;
/** Expected duration of a request before any has been measured, in ms. */
const FIRST_GUESS_MS = 1_000;

/** The request must wait because too many others are under way. This does not count as an attempt. */
export class CallWaitsError extends Error {
  readonly delayMs: number;
  /** Makes requests that are refused later come back behind `count` further ones, which come back with this one. */
  readonly bring: (count: number) => void;

  constructor(reason: string, delayMs: number, bring: (count: number) => void) {
    super(reason);
    this.delayMs = delayMs;
    this.bring = bring;
  }
}

export interface CallTurns {
  /**
   * Runs `work` if the limits of the account and the host allow another request.
   * @param host of the URL; empty if it has none
   * @param options.ofCohort whether a cohort makes it: it leaves some of the account's requests to others
   * @throws CallWaitsError
   */
  run<T>(
    accountId: number,
    host: string,
    work: () => Promise<T>,
    options?: { ofCohort?: boolean },
  ): Promise<T>;
}

/** @throws CallWaitsError if `key` has as many requests under way as it may have */
function admit(spacing: RetrySpacing<string>, key: string, max: number, reason: string): void {
  if (spacing.count(key) < max) return;
  const comeBack = (count: number) => spacing.laterMs(key, count * spacing.meanMs(key));
  throw new CallWaitsError(`waits: ${reason}`, comeBack(1), comeBack);
}

/** @param now in milliseconds; the clock of the process by default */
export function createCallTurns(now: () => number = () => performance.now()): CallTurns {
  const settings = { minWaitMs: MIN_WAIT_MS, firstGuessMs: FIRST_GUESS_MS, now };
  const accounts = createRetrySpacing<string>({ atOnce: MAX_OF_ACCOUNT, ...settings });
  const hosts = createRetrySpacing<string>({ atOnce: MAX_OF_HOST, ...settings });

  return {
    async run(accountId, host, work, { ofCohort = false } = {}) {
      const account = String(accountId);
      const max = ofCohort ? MAX_OF_COHORTS : MAX_OF_ACCOUNT;
      admit(accounts, account, max, `${max} requests of the account are under way`);
      admit(hosts, host, MAX_OF_HOST, `${MAX_OF_HOST} requests to the host are under way`);
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
