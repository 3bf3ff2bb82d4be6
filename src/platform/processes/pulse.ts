import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import type { Queryable } from '../db/queryable.ts';
import type { PreparedStatement } from '../db/statements.ts';
import { repeat, type Repeating } from './repeat.ts';

const INTERVAL_MS = 1_000;
const RETRY_MS = 1_000;

/** Rows that wait for work which any process may do. */
export interface WatchedQueue {
  /** Names the work in the log, such as `dispatching the outbox`. */
  name: string;
  /**
   * SQL condition: whether there is work, possibly for the process with the id `$1`. It runs every second, so it must
   * be as cheap as looking at an index. It may be true although other processes do all of the work, but never false
   * if there is some.
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
   * @param restMs pause after a round, even if there is more to do; none by default
   */
  repeat(queue: WatchedQueue, work: () => Promise<boolean>, restMs?: number): Repeating;
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

/** See {@link Pulse.repeat}. */
function repeatWork(
  { watch, log }: Pick<Pulse, 'watch'> & { log: Logger },
  { name, waiting }: WatchedQueue,
  work: () => Promise<boolean>,
  restMs: number,
): Repeating {
  // During a round, the pulse wakes nothing: another round may only follow after the rest.
  let restUntil = 0;
  const round = async () => {
    restUntil = Infinity;
    try {
      return (await work()) ? restMs : Infinity;
    } finally {
      restUntil = performance.now() + restMs;
    }
  };
  const repeating = repeat(round, { log, name, retryMs: Math.max(RETRY_MS, restMs) });
  const unwatch = watch(waiting, () => performance.now() >= restUntil && repeating.wake());
  return {
    wake: () => repeating.wake(),
    stop() {
      unwatch();
      return repeating.stop();
    },
  };
}

interface PulseOptions {
  db: Queryable;
  log: Logger;
  /** The id of this process. */
  self?: () => number | null;
  /** Pause between two looks, in ms; 1,000 by default. */
  intervalMs?: number;
}

/** A look that takes longer, for a lost connection or a locked table, must not keep all queues waiting. */
const LIMIT_MS = 3_000;

/** No process has this id. */
const NO_ID = 0;

/**
 * Starts looking. One statement costs both processes about half a millisecond, and one more condition nearly nothing.
 */
export function createPulse({ db, log, self = () => null, intervalMs = INTERVAL_MS }: PulseOptions): Pulse {
  const queues = new Set<Watched>();
  /** Null after a queue was added or removed. */
  let statement: PreparedStatement | null = null;

  /** @returns those of the queues that have work; all if that cannot be found out: their own statements may succeed */
  async function findWaiting(): Promise<readonly Watched[]> {
    const asked = [...queues];
    statement ??= conditionsStatement(
      asked.map(({ waiting }) => waiting),
      ', $1::bigint as process_id',
    );
    try {
      const query = { ...statement, values: [self() ?? NO_ID], query_timeout: LIMIT_MS };
      const { rows } = await db.query<{ are: boolean[] }>(query);
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
    repeat: (queue, work, restMs = 0) => repeatWork({ watch, log }, queue, work, restMs),
    stop: () => looking.stop(),
  };
}
