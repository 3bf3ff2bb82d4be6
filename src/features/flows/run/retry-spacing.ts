/**
 * Decides when work that a worker sends away comes back: one piece of work of a key after the other, at the rate at which
 * such work ends. So it neither waits in the worker nor comes back all at once.
 */

const MAX_WAIT_MS = 900_000;
/** How much the last work changes the mean. */
const WEIGHT = 0.2;

/** The work of a key that runs or waits in the worker. A key without work is forgotten. */
interface Entries {
  count: number;
  /** When each began whose work is under way. The first is the oldest. */
  began: Map<symbol, number>;
  meanMs: number;
  /** When the last work that was sent away comes back. The next one comes behind it. */
  lastReturn: number;
}

export interface RetrySpacing<Key> {
  /** How much work of the key has entered and not left. */
  count(key: Key): number;
  /** How long work of the key takes on average. */
  meanMs(key: Key): number;
  /** How long the oldest work of the key has been under way; 0 if none is. */
  oldestMs(key: Key): number;
  /** @param expectedMs how long work of the key is expected to take. @returns after how long the work may come back */
  laterMs(key: Key, expectedMs: number): number;
  /** Counts work of the key until `leave`, and measures how long it takes from `begin` until then. */
  enter(key: Key): { begin(): void; leave(): void };
}

/**
 * @param atOnce how much work of one key is done at once
 * @param minWaitMs how soon work may come back at the earliest
 * @param firstGuessMs how long work is expected to take before any was measured
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
