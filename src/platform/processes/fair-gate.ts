/** Work of many accounts on a limited number of places. */
export interface Turns {
  /**
   * Runs the work when the account's turn has come.
   * @param signal ends the wait; work that has begun goes on
   * @throws the reason of `signal`
   */
  run<T>(accountId: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

interface Job {
  begin: () => void;
}

interface Queue {
  accountId: string;
  jobs: Job[];
  /** Places that the account has. */
  running: number;
}

/**
 * Gives a free place to the account that has the fewest; among equals, to the one that has waited longest for one. No
 * account takes the last places, so that another one can begin at once.
 * @param places at most so much work at the same time
 * @param perAccount at most so much work of one account
 */
export function createTurns({ places, perAccount }: { places: number; perAccount: number }): Turns {
  /** Accounts with work, least recently served first. */
  const queues = new Map<string, Queue>();
  let running = 0;

  const next = (): Queue | null => {
    let best: Queue | null = null;
    for (const queue of queues.values()) {
      if (queue.jobs.length === 0 || queue.running >= perAccount) continue;
      if (best === null || queue.running < best.running) best = queue;
    }
    return best;
  };
  const fill = (): void => {
    while (running < places) {
      const queue = next();
      if (queue === null) return;
      queues.delete(queue.accountId);
      queues.set(queue.accountId, queue);
      queue.running += 1;
      running += 1;
      queue.jobs.shift()?.begin();
    }
  };
  const end = (queue: Queue): void => {
    queue.running -= 1;
    running -= 1;
    if (queue.running === 0 && queue.jobs.length === 0) queues.delete(queue.accountId);
    fill();
  };
  return {
    async run(accountId, work, signal) {
      signal?.throwIfAborted();
      const queue = queues.get(accountId) ?? { accountId, jobs: [], running: 0 };
      queues.set(accountId, queue);
      return new Promise((resolve, reject) => {
        const leave = (): void => {
          queue.jobs.splice(queue.jobs.indexOf(job), 1);
          if (queue.running === 0 && queue.jobs.length === 0) queues.delete(accountId);
          reject(signal?.reason as Error);
        };
        const begin = (): void => {
          signal?.removeEventListener('abort', leave);
          void work()
            .then(resolve, reject)
            .finally(() => end(queue));
        };
        const job = { begin };
        signal?.addEventListener('abort', leave, { once: true });
        queue.jobs.push(job);
        fill();
      });
    },
  };
}

/** A queue in which accounts take turns. */
export class FairQueue<T> {
  /** Least recently served first; none is empty. */
  readonly #byAccount = new Map<string, T[]>();

  push(accountId: string, item: T): void {
    const items = this.#byAccount.get(accountId);
    if (items) items.push(item);
    else this.#byAccount.set(accountId, [item]);
  }

  /** The account whose turn is next; undefined if the queue is empty. */
  get next(): string | undefined {
    return this.#byAccount.keys().next().value;
  }

  shift(): T | undefined {
    const accountId = this.next;
    if (accountId === undefined) return undefined;
    const items = this.#byAccount.get(accountId) ?? [];
    const item = items.shift();
    this.#byAccount.delete(accountId);
    if (items.length > 0) this.#byAccount.set(accountId, items);
    return item;
  }
}
