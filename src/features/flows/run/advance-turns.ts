/**
 * Limits the run transactions that a worker executes at once. They share few connections, so one account's runs must
 * not hold up those of others, however slow its filters are.
 */
import { FairGate } from '../../../platform/processes/fair-gate.ts';
import { createRetrySpacing } from './retry-spacing.ts';

/** Maximum number of concurrent transactions. It leaves connections of the pool to the rest of the process. */
const MAX_RUNNING = 8;
/** Maximum number of concurrent transactions of one account. */
const MAX_OF_ACCOUNT = MAX_RUNNING / 2;
/**
 * How long a run may queue, in ms. If it would wait longer, it comes back later, because its activity takes the place
 * of others.
 */
const MAX_QUEUED_MS = 1_000;
/** Minimum time before such a run comes back, in ms. */
const MIN_WAIT_MS = 5_000;

export interface AdvanceTurns {
  /**
   * Runs `work` when it is the account's turn.
   * @returns its result, or after how many ms to try again, because the account's transactions are slow
   */
  run<T>(accountId: number, work: () => Promise<T>): Promise<{ done: T } | { laterMs: number }>;
}

/** @param now in milliseconds; the clock of the process by default */
export function createAdvanceTurns(now: () => number = () => performance.now()): AdvanceTurns {
  const gate = new FairGate({ slots: MAX_RUNNING, perKey: MAX_OF_ACCOUNT });
  const spacing = createRetrySpacing<number>({
    atOnce: MAX_OF_ACCOUNT,
    minWaitMs: MIN_WAIT_MS,
    firstGuessMs: 0,
    now,
  });
  return {
    async run(accountId, work) {
      const { running, waiting, isFull } = gate.stateOf(accountId);
      // A transaction that hangs is not in the mean yet, so the oldest one counts with its present duration.
      const expectedMs = Math.max(spacing.meanMs(accountId), spacing.oldestMs(accountId));
      const queuedMs = ((waiting + 1) / MAX_OF_ACCOUNT) * expectedMs;
      if (isFull && running > 0 && queuedMs > MAX_QUEUED_MS) {
        return { laterMs: spacing.laterMs(accountId, expectedMs) };
      }
      const transaction = spacing.enter(accountId);
      const measured = () => {
        transaction.begin();
        return work();
      };
      try {
        return { done: await gate.run(accountId, measured) };
      } finally {
        transaction.leave();
      }
    },
  };
}
