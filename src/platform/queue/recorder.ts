import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { isConnectionError } from '../db/queryable.ts';

/** Records the results of work in groups: items that arrive while one group is being committed form the next. */
export interface Recorder<Item> {
  add(item: Item): void;
  /** Resolves when all items so far are committed, however long the database is unavailable or refuses one. */
  settled(): Promise<void>;
  /** Like {@link settled}, but gives up on items that the database refuses. */
  close(): Promise<void>;
}

export interface RecorderOptions<Item> {
  /** What the items are, in the plural, for the log: `outcomes`. */
  noun: string;
  maxGroup: number;
  /** Shortest pause between the starts of two groups. A lone item after a pause starts its group at once. */
  intervalMs: number;
  /** How long a group gathers items from its first one on, unless it is full earlier; by default not at all. */
  gatherMs?: number;
  /** Whether a group waits for no more items; it never does with `maxGroup` items. */
  isFull?(waiting: readonly Item[]): boolean;
  /** Longest pause between two attempts to record an item that the database refuses. */
  maxRetryMs: number;
  /** Records items in one transaction; throws if that failed. */
  commit(items: readonly Item[]): Promise<void>;
  /** @returns fields that identify an item in the log */
  describe(item: Item): Record<string, unknown>;
  log: Logger;
}

/** Pause while the database is unavailable, and before the first retry of an item that it refuses. */
const RETRY_MS = 250;

/** Items that failed on their own. Each is retried alone, at growing intervals, and does not delay the others. */
function createSetAside<Item>({ noun, commit, maxRetryMs, describe, log }: RecorderOptions<Item>) {
  const closing = new AbortController();
  const { signal } = closing;
  const waiting = new Set<Promise<void>>();
  let lastCommit: Promise<unknown> = Promise.resolve();

  async function commitInTurn(item: Item): Promise<boolean> {
    const committing = lastCommit.then(() => commit([item]));
    lastCommit = committing.catch(() => undefined);
    try {
      await committing;
      return true;
    } catch (error) {
      log.error({ err: error, ...describe(item) }, `${noun} refused by the database`);
      return false;
    }
  }

  async function retry(item: Item): Promise<void> {
    for (let delayMs = RETRY_MS; ; delayMs = Math.min(delayMs * 2, maxRetryMs)) {
      await sleep(delayMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted || (await commitInTurn(item))) return;
    }
  }

  async function settled(): Promise<void> {
    while (waiting.size > 0) await Promise.all(waiting);
  }

  return {
    add(item: Item): void {
      const retrying = retry(item).finally(() => waiting.delete(retrying));
      waiting.add(retrying);
    },
    settled,
    async close(): Promise<void> {
      closing.abort();
      await settled();
    },
  };
}

/** Decides when the next group starts. */
function createGroupPace<Item>(options: RecorderOptions<Item>) {
  const { intervalMs, gatherMs = 0, maxGroup } = options;
  let startedAt = -Infinity;
  /** When the first of the waiting items was added. */
  let firstAt = -Infinity;
  let start: (() => void) | null = null;

  const isFull = (waiting: readonly Item[]) =>
    waiting.length >= maxGroup || options.isFull?.(waiting) === true;

  return {
    /** Notes that an item was added to those that wait. */
    added(waiting: readonly Item[]): void {
      if (waiting.length === 1) firstAt = performance.now();
      if (start && isFull(waiting)) start();
    },
    /** Waits until the next group may start. A full group does not wait. */
    async wait(waiting: readonly Item[]): Promise<void> {
      const waitMs = Math.max(startedAt + intervalMs, firstAt + gatherMs) - performance.now();
      // Timers are too coarse for shorter waits.
      if (waitMs >= 1 && !isFull(waiting)) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, waitMs);
          start = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        start = null;
      }
      startedAt = performance.now();
    },
  };
}

export function createRecorder<Item>(options: RecorderOptions<Item>): Recorder<Item> {
  const { noun, maxGroup, commit, log } = options;
  const waiting: Item[] = [];
  const setAside = createSetAside(options);
  const pace = createGroupPace(options);
  let running: Promise<void> | null = null;

  /** Waits while the database is unavailable. @returns false if the commit failed for another reason */
  async function tryCommit(items: readonly Item[]): Promise<boolean> {
    for (;;) {
      try {
        await commit(items);
        return true;
      } catch (error) {
        log.error({ err: error, items: items.length }, `${noun} not recorded yet`);
        if (!isConnectionError(error)) return false;
        await sleep(RETRY_MS);
      }
    }
  }

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      await pace.wait(waiting);
      const group = waiting.splice(0, maxGroup);
      if (await tryCommit(group)) continue;
      // An item that the database refuses must not delay the others.
      for (const item of group) if (group.length === 1 || !(await tryCommit([item]))) setAside.add(item);
    }
    running = null;
  }

  return {
    add(item) {
      waiting.push(item);
      pace.added(waiting);
      // Items of the same turn of the event loop are recorded together.
      running ??= new Promise<void>((resolve) => setImmediate(resolve)).then(run);
    },
    async settled() {
      while (running) await running;
      await setAside.settled();
    },
    async close() {
      while (running) await running;
      await setAside.close();
    },
  };
}
