/**
 * Which transactions of runs a worker does at once. They share a few connections, so the runs of one account must not hold
 * up those of others, however slow its filters are.
 */
import { FairGate } from '../../../platform/processes/fair-gate.ts';
import { createRetrySpacing } from './retry-spacing.ts';

/** Transactions at once. They leave connections of the pool to the rest of the process. */
const MAX_RUNNING = 8;
/** Those of one account. */
const MAX_OF_ACCOUNT = MAX_RUNNING / 2;
/** A run that would wait longer comes back later, because its workflow task keeps others from beginning. */
const MAX_QUEUED_MS = 1_000;
/** When it comes back at the earliest. */
const MIN_WAIT_MS = 5_000;

export interface AdvanceTurns {
  /**
   * Runs `work` when it is the account's turn.
   * @returns its result, or after how many milliseconds to ask again: the account's transactions are slow
   */
  run<T>(accountId: number, work: () => Promise<T>): Promise<{ done: T } | { laterMs: number }>;
}

/** @param now in milliseconds; the clock of the process by default */
export function createAdvanceTurns(now: () => number = () => performance.now()): AdvanceTurns {
  const gate = new FairGate({ places: MAX_RUNNING, perKey: MAX_OF_ACCOUNT });
  const spacing = createRetrySpacing<number>({
    atOnce: MAX_OF_ACCOUNT,
    minWaitMs: MIN_WAIT_MS,
    firstGuessMs: 0,
    now,
  });
  return {
    async run(accountId, work) {
      const { running, waiting, isFull } = gate.stateOf(accountId);
      // A transaction that does not end counts as long as it lasts.
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
