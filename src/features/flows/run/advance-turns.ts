/**
 * Limits the run transactions that a worker executes at once. They share few connections, so one account's runs must
 * not hold up those of others, however slow its filters are.
 */
import { FairGate } from '../../../platform/processes/fair-gate.ts';
import { createRetrySpacing } from './retry-spacing.ts';

export interface AdvanceLimits {
  /** Maximum number of concurrent transactions. It leaves connections of the pool to the rest of the process. */
  running: number;
  /** Maximum number of concurrent transactions of one account. */
  ofAccount: number;
  /**
   * How long a run may queue, in ms. If it would wait longer, it comes back later, because its activity takes the
   * place of others.
   */
  queuedMs: number;
  /** Minimum time before such a run comes back, in ms. */
  minWaitMs: number;
}

const OF_RUNS: AdvanceLimits = { running: 8, ofAccount: 4, queuedMs: 1_000, minWaitMs: 5_000 };

export interface AdvanceTurns {
  /**
   * Runs `work` when it is the account's turn.
   * @param order within the account, work with a lower number comes first; work with equal numbers in the order of
   *   arrival
   * @returns its result, or after how many ms to try again, because the account's transactions are slow
   */
  run<T>(
    accountId: number,
    work: () => Promise<T>,
    order?: number,
  ): Promise<{ done: T } | { laterMs: number }>;
  /** Whether another account waits for a slot. */
  isAwaited(accountId: number): boolean;
}

/** @param now in milliseconds; the clock of the process by default */
export function createAdvanceTurns(
  now: () => number = () => performance.now(),
  { running: slots, ofAccount, queuedMs: maxQueuedMs, minWaitMs }: AdvanceLimits = OF_RUNS,
): AdvanceTurns {
  const gate = new FairGate({ slots, perKey: ofAccount });
  const spacing = createRetrySpacing<number>({ atOnce: ofAccount, minWaitMs, firstGuessMs: 0, now });
  return {
    async run(accountId, work, order) {
      const { running, waiting, isFull } = gate.stateOf(accountId);
      // A transaction that hangs is not in the mean yet, so the oldest one counts with its present duration.
      const expectedMs = Math.max(spacing.meanMs(accountId), spacing.oldestMs(accountId));
      const queuedMs = ((waiting + 1) / ofAccount) * expectedMs;
      if (isFull && running > 0 && queuedMs > maxQueuedMs) {
        return { laterMs: spacing.laterMs(accountId, expectedMs) };
      }
      const transaction = spacing.enter(accountId);
      const measured = () => {
        transaction.begin();
        return work();
      };
      try {
        return { done: await gate.run(accountId, measured, { order }) };
      } finally {
        transaction.leave();
      }
    },
    isAwaited: (accountId) => gate.isAwaited(accountId),
  };
}
