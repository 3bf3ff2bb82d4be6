/**
 * Which transactions of runs a worker does at once. They share a few connections, so the runs of one account must not hold
 * up those of others, however slow its filters are.
 */

/** Transactions at once. They leave connections of the pool to the rest of the process. */
const MAX_RUNNING = 8;
/** Those of one account. */
const MAX_OF_ACCOUNT = MAX_RUNNING / 2;
/** A run that would wait longer comes back later, because its workflow task keeps others from beginning. */
const MAX_QUEUED_MS = 1_000;
/** When it comes back. */
const MIN_WAIT_MS = 5_000;
const MAX_WAIT_MS = 900_000;
/** How much the last transaction changes the mean. */
const WEIGHT = 0.2;

/** What is under way, and waits, for an account. */
interface Lane {
  running: Map<symbol, number>;
  waiting: (() => void)[];
  meanMs: number;
  /** When the last run that was sent away comes back. The next one comes behind it. */
  lastTurn: number;
  /** When a transaction of the account last began. */
  served: number;
}

export interface AdvanceTurns {
  /**
   * Runs `work` when it is the account's turn.
   * @returns its result, or after how many milliseconds to ask again: the account's transactions are slow
   */
  run<T>(accountId: number, work: () => Promise<T>): Promise<{ done: T } | { laterMs: number }>;
}

const isFull = (lane: Lane) => lane.running.size >= MAX_OF_ACCOUNT;

/** How long a transaction of the account takes. One that does not end counts as long as it lasts. */
function durationMs({ running, meanMs }: Lane, now: number): number {
  const [oldest] = running.values();
  return oldest === undefined ? meanMs : Math.max(meanMs, now - oldest);
}

/** Of those who wait and may begin: the account with the fewest under way, and of these the one served longest ago. */
function nextOf(lanes: Iterable<Lane>): Lane | null {
  let next: Lane | null = null;
  for (const lane of lanes) {
    if (lane.waiting.length === 0 || isFull(lane)) continue;
    const isFewer = !next || lane.running.size < next.running.size;
    const isOlder = lane.running.size === next?.running.size && lane.served < next.served;
    if (isFewer || isOlder) next = lane;
  }
  return next;
}

/** How long a run of a slow account stays away. */
function laterMs(lane: Lane, now: number): number {
  lane.lastTurn = Math.max(lane.lastTurn, now) + durationMs(lane, now) / MAX_OF_ACCOUNT;
  return Math.min(MAX_WAIT_MS, Math.max(MIN_WAIT_MS, lane.lastTurn - now));
}

/** @param now in milliseconds; the clock of the process by default */
export function createAdvanceTurns(now: () => number = () => performance.now()): AdvanceTurns {
  const lanes = new Map<number, Lane>();
  let running = 0;

  function laneOf(accountId: number): Lane {
    const known = lanes.get(accountId);
    if (known) return known;
    const lane: Lane = { running: new Map(), waiting: [], meanMs: 0, lastTurn: 0, served: 0 };
    lanes.set(accountId, lane);
    return lane;
  }

  /** Counts a transaction as begun. @returns what ends it */
  function start(accountId: number, lane: Lane): () => void {
    const turn = Symbol('turn');
    const began = now();
    lane.running.set(turn, began);
    lane.served = began;
    running += 1;
    return () => {
      lane.running.delete(turn);
      running -= 1;
      lane.meanMs += WEIGHT * (now() - began - lane.meanMs);
      if (lane.running.size + lane.waiting.length === 0) lanes.delete(accountId);
      while (running < MAX_RUNNING) {
        const begin = nextOf(lanes.values())?.waiting.shift();
        if (!begin) return;
        begin();
      }
    };
  }

  /** @returns what ends the turn; null: the run would wait too long */
  async function take(accountId: number, lane: Lane): Promise<(() => void) | null> {
    if (running < MAX_RUNNING && !isFull(lane)) return start(accountId, lane);
    const ahead = (lane.waiting.length + 1) / MAX_OF_ACCOUNT;
    if (lane.running.size > 0 && ahead * durationMs(lane, now()) > MAX_QUEUED_MS) return null;
    return new Promise((resolve) => {
      lane.waiting.push(() => resolve(start(accountId, lane)));
    });
  }

  return {
    async run(accountId, work) {
      const lane = laneOf(accountId);
      const end = await take(accountId, lane);
      if (!end) return { laterMs: laterMs(lane, now()) };
      try {
        return { done: await work() };
      } finally {
        end();
      }
    },
  };
}
