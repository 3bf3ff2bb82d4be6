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
  /**
   * Whether a window may go now. In the half-open state only one may.
   * @returns null where it may not; else what to call when the window is over, whatever was learned: a trial that
   *   handed over nothing must not be the last
   */
  tryEnter(): (() => void) | null;
  succeeded(): void;
  failed(reason: string): void;
  /** A connection that ended with a message's refusal; the third in a row opens the breaker. */
  strained(reason: string): void;
  /** Milliseconds until a window may try; 0 where one may now. */
  waitMs(): number;
  report(): BreakerReport;
}

const FIRST_BACKOFF_MS = 1_000;
const LONGEST_BACKOFF_MS = 300_000;
const STRAINS_THAT_OPEN = 3;

/** @param clock milliseconds, so that tests need not wait */
export function createBreaker(clock: () => number = Date.now): Breaker {
  let openUntil: number | null = null;
  let failures = 0;
  let trying = false;
  let strains = 0;
  let reason: string | null = null;

  function failed(because: string): void {
    // The windows that were on their way when it opened tell nothing new.
    if (openUntil !== null && !trying && clock() < openUntil) return;
    trying = false;
    reason = because;
    openUntil = clock() + Math.min(FIRST_BACKOFF_MS * 2 ** failures, LONGEST_BACKOFF_MS);
    failures += 1;
  }

  return {
    tryEnter() {
      if (openUntil === null) return () => undefined;
      if (clock() < openUntil || trying) return null;
      trying = true;
      return () => {
        trying = false;
      };
    },
    succeeded() {
      openUntil = null;
      failures = 0;
      strains = 0;
      trying = false;
      reason = null;
    },
    failed,
    strained(because) {
      strains += 1;
      if (openUntil === null && strains < STRAINS_THAT_OPEN) return;
      strains = 0;
      failed(because);
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
