/** The maximum number of messages given to a provider under one intent. */
export const MAX_BATCH = 50;
/** Maximum measured work of a batch: other accounts wait no longer than this for a connection. */
const MAX_BATCH_MS = 250;
/** Maximum measured work of one account in a batch before the next account's turn. */
const IN_A_ROW_MS = 50;
/** Minimum measured work of a worker's share, because each batch costs the database an intent. */
const MIN_SHARE_MS = 50;
/** How long the claims in a full buffer keep all workers busy. */
const AHEAD_MS = 500;
const MAX_AHEAD = 1_000;
/** Assumed time per message until the provider's first batch is measured. */
const FIRST_GUESS_MS = 25;
/** Weight of the newest batch in the moving average. */
const WEIGHT = 0.2;

/** Measures how long a provider channel takes per message, and derives how many messages it gets at once. */
export interface BatchSizes {
  /** Measures a batch that the provider has processed. @param ms that the provider took for its messages */
  measure(messages: number, ms: number): void;
  /** Maximum number of messages of a batch. */
  batchSize(): number;
  /** Minimum number of messages that a worker takes, if there are enough, although other workers wait. */
  minShare(): number;
  /** Maximum number of messages of one account in a batch before the next account's turn. */
  inARow(): number;
  /** Number of messages in a full buffer, which keeps all workers busy for half a second. */
  ahead(): number;
}

function within(count: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, Math.floor(count)));
}

/** @param workers how many batches the provider takes at once */
export function createBatchSizes(workers: number): BatchSizes {
  let meanMs: number | null = null;
  const messageMs = () => Math.max(meanMs ?? FIRST_GUESS_MS, 0.01);
  return {
    measure(messages, ms) {
      const measured = ms / messages;
      meanMs = meanMs === null ? measured : meanMs + (measured - meanMs) * WEIGHT;
    },
    batchSize: () => within(MAX_BATCH_MS / messageMs(), 1, MAX_BATCH),
    minShare: () => within(MIN_SHARE_MS / messageMs(), 1, MAX_BATCH),
    inARow: () => within(IN_A_ROW_MS / messageMs(), 1, MAX_BATCH),
    ahead: () => within((workers * AHEAD_MS) / messageMs(), Math.min(2 * workers, MAX_AHEAD), MAX_AHEAD),
  };
}
