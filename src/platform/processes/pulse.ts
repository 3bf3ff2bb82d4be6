import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import type { Queryable } from '../db/queryable.ts';
import type { PreparedStatement } from '../db/statements.ts';
import { repeat, type Repeating } from './repeat.ts';

const INTERVAL_MS = 1_000;

/** Rows that wait for work which any process may do. */
export interface WatchedQueue {
  /** Names the work in the log, such as `dispatching the outbox`. */
  name: string;
  /**
   * SQL condition: whether there is work. It runs every second, so it must be as cheap as looking at an index. It may be
   * true although other processes do all of the work, but never false if there is some.
   */
  waiting: string;
}

/** Looks at the queues of a process every second, with one statement for all of them. */
export interface Pulse {
  /** Calls `wake` every second while the queue has work. @returns a function that stops this */
  watch(waiting: string, wake: () => void): () => void;
  /**
   * Repeats `work` at once, whenever its queue has work, and when it is woken.
   * @param work one round; returns whether there may be more to do. Errors are logged, and the next round follows.
   */
  repeat(queue: WatchedQueue, work: () => Promise<boolean>): Repeating;
  stop(): Promise<void>;
}

interface Watched {
  waiting: string;
  wake: () => void;
}

/**
 * Composes a statement that evaluates conditions. Its row has an array named `are`.
 * @param columns SQL: further columns
 */
export function conditionsStatement(conditions: readonly string[], columns = ''): PreparedStatement {
  const are = conditions.map((condition) => `  (${condition})`).join(',\n');
  const text = `select array[\n${are}\n]::boolean[] as are${columns}`;
  // The name differs with the text: behind a pooler, another process may have prepared its own statement.
  const digest = createHash('sha256').update(text).digest('hex');
  return { name: `conditions_${digest.slice(0, 16)}`, text };
}

/** Starts looking. One statement costs both processes about half a millisecond, and one more condition nearly nothing. */
export function createPulse({
  db,
  log,
  intervalMs = INTERVAL_MS,
}: {
  db: Queryable;
  log: Logger;
  intervalMs?: number;
}): Pulse {
  const queues = new Set<Watched>();
  /** Null after a queue was added or removed. */
  let statement: PreparedStatement | null = null;

  /** @returns those of the queues that have work; all if that cannot be found out: their own statements may succeed */
  async function findWaiting(): Promise<readonly Watched[]> {
    const asked = [...queues];
    statement ??= conditionsStatement(asked.map(({ waiting }) => waiting));
    try {
      const { rows } = await db.query<{ are: boolean[] }>(statement);
      return asked.filter((_, n) => rows[0]?.are[n]);
    } catch (error) {
      log.warn({ err: error }, 'looking for work failed: trying each queue');
      return asked;
    }
  }

  const looking = repeat(
    async () => {
      if (queues.size === 0) return Infinity;
      for (const { wake } of await findWaiting()) wake();
      return intervalMs;
    },
    { log, name: 'looking for work' },
  );

  function watch(waiting: string, wake: () => void): () => void {
    const queue = { waiting, wake };
    if (queues.size === 0) looking.wake();
    queues.add(queue);
    statement = null;
    return () => {
      queues.delete(queue);
      if (queues.size === 0) looking.wake();
      statement = null;
    };
  }

  return {
    watch,
    repeat({ name, waiting }, work) {
      const repeating = repeat(async () => ((await work()) ? 0 : Infinity), { log, name });
      const unwatch = watch(waiting, () => repeating.wake());
      return {
        wake: () => repeating.wake(),
        stop() {
          unwatch();
          return repeating.stop();
        },
      };
    },
    stop: () => looking.stop(),
  };
}
