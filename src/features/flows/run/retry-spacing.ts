/**
 * Decides when work that a worker refuses comes back: each piece of a key's work after the other, at the rate at which
 * such work ends. So it neither queues in the worker nor comes back all at once.
 */

const MAX_WAIT_MS = 900_000;
/** Weight of the latest duration in the moving average. */
const WEIGHT = 0.2;

/** The work of a key that runs or waits in the worker. Keys without work are dropped. */
interface Entries {
  count: number;
  /** When each running piece of work began, the oldest first. */
  began: Map<symbol, number>;
  meanMs: number;
  /** When the last refused piece of work comes back. The next one comes back after it. */
  lastReturn: number;
}

export interface RetrySpacing<Key> {
  /** How many pieces of the key's work have entered and not left. */
  count(key: Key): number;
  /** The average duration of the key's work. */
  meanMs(key: Key): number;
  /** How long the key's oldest work has been running; 0 if none is. */
  oldestMs(key: Key): number;
  /** @param expectedMs expected duration of the key's work. @returns after how long the refused work may come back */
  laterMs(key: Key, expectedMs: number): number;
  /** Counts a piece of work until `leave`, and measures its duration from `begin` until then. */
  enter(key: Key): { begin(): void; leave(): void };
}

/**
 * @param atOnce maximum number of concurrent pieces of one key's work
 * @param minWaitMs minimum time before refused work comes back
 * @param firstGuessMs expected duration before any has been measured
 * @param now in milliseconds
 */
export function createRetrySpacing<Key>({
  atOnce,
  minWaitMs,
  firstGuessMs,
  now,
}: {
  atOnce: number;
  minWaitMs: number;
  firstGuessMs: number;
  now: () => number;
}): RetrySpacing<Key> {
  const known = new Map<Key, Entries>();
  const entriesOf = (key: Key): Entries =>
    known.get(key) ?? { count: 0, began: new Map(), meanMs: firstGuessMs, lastReturn: 0 };
  return {
    count: (key) => entriesOf(key).count,
    meanMs: (key) => entriesOf(key).meanMs,
    oldestMs(key) {
      const [oldest] = entriesOf(key).began.values();
      return oldest === undefined ? 0 : now() - oldest;
    },
    laterMs(key, expectedMs) {
      const entries = entriesOf(key);
      entries.lastReturn = Math.max(entries.lastReturn, now()) + expectedMs / atOnce;
      return Math.min(MAX_WAIT_MS, Math.max(minWaitMs, entries.lastReturn - now()));
    },
    enter(key) {
      const entries = entriesOf(key);
      const work = Symbol('work');
      known.set(key, entries);
      entries.count += 1;
      return {
        begin: () => void entries.began.set(work, now()),
        leave() {
          const began = entries.began.get(work);
          if (began !== undefined) entries.meanMs += WEIGHT * (now() - began - entries.meanMs);
          entries.began.delete(work);
          entries.count -= 1;
          if (entries.count === 0) known.delete(key);
        },
      };
    },
  };
}
