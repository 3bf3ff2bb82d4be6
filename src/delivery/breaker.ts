/** What a provider's breaker shows to an operator. */
export interface BreakerReport {
  state: 'closed' | 'open' | 'half_open';
  reason: string | null;
  retryAt: string | null;
}

/**
 * Keeps a sender from a provider in trouble: after a fault nothing is handed over for a second,
 * then two, four … up to five minutes; then one window tries whether it works again.
 */
export interface Breaker {
  /** Whether a window may go now. In the half-open state only one may, until it has reported. */
  tryEnter(): boolean;
  succeeded(): void;
  failed(reason: string): void;
  /** Milliseconds until a window may try; 0 where one may now. */
  waitMs(): number;
  report(): BreakerReport;
}

const FIRST_BACKOFF_MS = 1_000;
const LONGEST_BACKOFF_MS = 300_000;

/** @param clock milliseconds, so that tests need not wait */
export function createBreaker(clock: () => number = Date.now): Breaker {
  let openUntil: number | null = null;
  let failures = 0;
  let trying = false;
  let reason: string | null = null;
  return {
    tryEnter() {
      if (openUntil === null) return true;
      if (clock() < openUntil || trying) return false;
      trying = true;
      return true;
    },
    succeeded() {
      openUntil = null;
      failures = 0;
      trying = false;
      reason = null;
    },
    failed(because) {
      // The windows that were on their way when it opened tell nothing new.
      if (openUntil !== null && !trying && clock() < openUntil) return;
      trying = false;
      reason = because;
      openUntil = clock() + Math.min(FIRST_BACKOFF_MS * 2 ** failures, LONGEST_BACKOFF_MS);
      failures += 1;
    },
    waitMs() {
      if (openUntil === null) return 0;
      return trying ? FIRST_BACKOFF_MS : Math.max(0, openUntil - clock());
    },
    report() {
      if (openUntil === null) return { state: 'closed', reason: null, retryAt: null };
      const state = trying ? 'half_open' : 'open';
      return { state, reason, retryAt: new Date(openUntil).toISOString() };
    },
  };
}
