import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import { createCoalescer } from '../../platform/db/coalescer.ts';
import { isConnectionError } from '../../platform/db/queryable.ts';
import { withoutRefused } from '../../platform/db/refused-data.ts';
import { type Hit, storeHits } from './hits.ts';

const MAX_GROUP = 500;
/** A second group at the same time would only make both smaller, and a statement costs as much as many hits. */
const GROUPS_AT_ONCE = 1;
/** Under a steady load, hits gather for this long. */
const GROUP_INTERVAL_MS = 3;
/** Hits that wait to be stored. Beyond these, the database is too slow to keep them. */
const MAX_WAITING = 20_000;
/** A person waits for a redirect at most about this much longer. */
const MAX_WAIT_MS = 1_000;
const LATE_LOOK_MS = 100;
/** A fail-over of the database takes less. */
const PERSIST_MS = 60_000;
const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 1_000;

export interface HitRecorderDeps {
  pool: pg.Pool;
  log: Logger;
  /** Counts hits that were answered and could not be stored. */
  onLost: (hits: number) => void;
  /** How long a group is tried again; by default 60 s. */
  persistMs?: number;
}

interface Waiter {
  sinceMs: number;
  resolve: () => void;
}

/** Ends the waits that last too long. One timer serves all, because almost none of them ever does. */
class Waiters {
  readonly #waiters = new Set<Waiter>();
  #timer: NodeJS.Timeout | null = null;

  add(resolve: () => void): Waiter {
    const waiter = { sinceMs: performance.now(), resolve };
    this.#waiters.add(waiter);
    this.#timer ??= setInterval(() => this.#endLate(), LATE_LOOK_MS).unref();
    return waiter;
  }

  end(waiter: Waiter): void {
    this.#waiters.delete(waiter);
    waiter.resolve();
  }

  #endLate(): void {
    const now = performance.now();
    // A set has its oldest member first.
    for (const waiter of this.#waiters) {
      if (now - waiter.sinceMs < MAX_WAIT_MS) return;
      this.end(waiter);
    }
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
  }
}

/** PostgreSQL: deadlocks, a lack of resources, locks, time-outs and other interventions. */
const PASSES = /^(40|53|55|57)/;

function mayPass(error: unknown): boolean {
  return isConnectionError(error) || PASSES.test((error as { code?: string }).code ?? '');
}

/** Stores hits, again and again while a failure may pass and `mayWait` says that there is time. @throws Error */
async function storePatiently(pool: pg.Pool, hits: readonly Hit[], mayWait: () => boolean): Promise<void> {
  for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(2 * retryMs, MAX_RETRY_MS)) {
    try {
      return await storeHits(pool, hits);
    } catch (error) {
      if (!mayPass(error) || !mayWait()) throw error;
    }
    await sleep(retryMs);
  }
}

/**
 * Stores hits in groups. If the database refuses a hit, the others of its group are stored without it. A group that fails
 * for a reason that may pass is tried again, unless too many wait behind it. If only the response to its commit was lost,
 * its hits are stored twice; their opens and clicks are still reported once.
 * @returns a function that stores a hit. It resolves when the hit is committed; and in any case after a second, so that
 *   a link works while the database does not. It never rejects.
 */
export function createHitRecorder({
  pool,
  log,
  onLost,
  persistMs = PERSIST_MS,
}: HitRecorderDeps): (hit: Hit) => Promise<void> {
  const waiters = new Waiters();
  let waiting = 0;
  let warnedAt = -Infinity;

  function lose(hits: number, error: unknown): void {
    onLost(hits);
    if (performance.now() - warnedAt < MAX_WAIT_MS) return;
    warnedAt = performance.now();
    log.warn({ err: error }, 'hits of tracked mail lost');
  }

  async function store(group: readonly Hit[]): Promise<void> {
    const untilMs = performance.now() + persistMs;
    const mayWait = () => waiting < MAX_WAITING && performance.now() < untilMs;
    let unstored = group.length;
    try {
      await withoutRefused(
        group,
        async (part) => {
          await storePatiently(pool, part, mayWait);
          unstored -= part.length;
        },
        (_hit, error) => {
          unstored -= 1;
          lose(1, error);
        },
      );
    } catch (error) {
      lose(unstored, error);
    }
  }

  const coalescer = createCoalescer<Hit, null>({
    maxGroupSize: MAX_GROUP,
    concurrency: GROUPS_AT_ONCE,
    intervalMs: GROUP_INTERVAL_MS,
    async run(group) {
      await store(group);
      waiting -= group.length;
      return group.map(() => null);
    },
  });

  return (hit) => {
    if (waiting >= MAX_WAITING) {
      lose(1, new Error('the database is too slow'));
      return Promise.resolve();
    }
    waiting += 1;
    return new Promise((resolve) => {
      const waiter = waiters.add(resolve);
      void coalescer.submit(hit).then(() => waiters.end(waiter));
    });
  };
}
