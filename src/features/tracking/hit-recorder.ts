import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import { createCoalescer } from '../../platform/db/coalescer.ts';
import { isConnectionError } from '../../platform/db/queryable.ts';
import { withoutRefused } from '../../platform/db/refused-data.ts';
import { type Hit, storeHits } from './hits.ts';

const MAX_GROUP = 500;
/** Only one, because concurrent groups would be smaller, and a statement costs as much as many hits. */
const GROUPS_AT_ONCE = 1;
/** How long hits are collected into a group under steady load, in ms. */
const GROUP_INTERVAL_MS = 3;
/** Maximum number of hits waiting to be stored. Beyond it, the database is too slow, and hits are lost. */
const MAX_WAITING = 20_000;
/** How long storing a hit may delay a redirect, approximately. */
const MAX_WAIT_MS = 1_000;
const LATE_LOOK_MS = 100;
/** How long storing a group is retried by default. A failover of the database takes less. */
const PERSIST_MS = 60_000;
const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 1_000;

export interface HitRecorderDeps {
  pool: pg.Pool;
  log: Logger;
  /** Called with the number of hits that were answered but could not be stored. */
  onLost: (hits: number) => void;
  /** How long storing a group is retried; 60 s by default. */
  persistMs?: number;
}

interface Waiter {
  sinceMs: number;
  resolve: () => void;
}

/** Ends waits that take too long. All share one timer, because almost none of them ever does. */
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
    // A set iterates over its oldest member first.
    for (const waiter of this.#waiters) {
      if (now - waiter.sinceMs < MAX_WAIT_MS) return;
      this.end(waiter);
    }
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
  }
}

/**
 * PostgreSQL error classes that are temporary: deadlocks, lack of resources, locks, time-outs and operator
 * interventions.
 */
const PASSES = /^(40|53|55|57)/;

function mayPass(error: unknown): boolean {
  return isConnectionError(error) || PASSES.test((error as { code?: string }).code ?? '');
}

/** Stores hits. Retries while the failure may be temporary and `mayWait` returns true. @throws Error */
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
 * Stores hits in groups. If the database refuses a hit, the others of its group are stored without it. A group that
 * fails for a temporary reason is retried, unless too many hits are waiting. If only the response to its commit was
 * lost, its hits are stored twice; their opens and clicks are still reported once.
 * @returns a function that stores a hit. It resolves when the hit is committed, and in any case after a second, so that
 *   links work while the database is down. It never rejects.
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
    log.warn({ err: error }, 'tracking hits lost');
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
