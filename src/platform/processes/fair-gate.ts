/**
 * Bounds how much work of one kind a process does at once, and divides the slots fairly between keys, such as accounts:
 * work of one key, however much and however slow, does not hold up the others.
 */

export interface GateOptions {
  /** Maximum number of running tasks. */
  slots: number;
  /** Maximum number of running tasks of one key. If it is less than `slots`, one key alone cannot fill the gate. */
  perKey: number;
  /** Maximum number of waiting tasks of one key; unlimited by default. */
  maxWaiting?: number;
  /** How long a task may wait, in ms; unlimited by default. */
  waitMs?: number;
  /** Creates the error for a task of a key that has too many waiting, or for a task that has waited too long. */
  refusal?: () => Error;
}

export interface WaitOptions {
  /** Ends the wait. A task that has begun continues. */
  signal?: AbortSignal | undefined;
  /** Replaces the `refusal` of the gate. */
  refusal?: () => Error;
  /** Within its key, a task with a lower number begins earlier; 0 by default. */
  order?: number | undefined;
}

/** The tasks of one key. */
interface Line {
  running: number;
  /** Functions that begin the waiting tasks, in the order of arrival, with the order that they ask for. */
  waiting: Map<() => void, number>;
}

/** @param waiting at least one */
function firstOf(waiting: Line['waiting']): () => void {
  let first: [() => void, number] | null = null;
  for (const entry of waiting) if (first === null || entry[1] < first[1]) first = entry;
  return (first as [() => void, number])[0];
}

function refused(): Error {
  return new Error('too much work waits for a slot');
}

/**
 * A free slot goes to the key with the fewest running tasks; among equals, to the key that was served longest ago;
 * within a key, to the task that came first, unless tasks ask for another order.
 */
export class FairGate<Key = number> {
  /** The keys that have tasks, in the order in which they were last served, oldest first. */
  readonly #lines = new Map<Key, Line>();
  readonly #options: GateOptions;
  #running = 0;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  /**
   * Runs the task as soon as its key has a slot.
   * @throws the refusal; the reason of the signal; any error of the task
   */
  async run<T>(key: Key, work: () => Promise<T>, options: WaitOptions = {}): Promise<T> {
    const wait = this.#claim(key, options);
    if (wait) await wait;
    try {
      return await work();
    } finally {
      this.#leave(key);
    }
  }

  /**
   * Waits for a slot, for a task that ends elsewhere.
   * @returns a function that gives the slot back; call it once
   * @throws the refusal; the reason of the signal
   */
  async enter(key: Key, options: WaitOptions = {}): Promise<() => void> {
    await this.#claim(key, options);
    return () => this.#leave(key);
  }

  /** Number of running and waiting tasks of the key, and whether another one would have to wait. */
  stateOf(key: Key): { running: number; waiting: number; isFull: boolean } {
    const line = this.#lines.get(key);
    const running = line?.running ?? 0;
    return { running, waiting: line?.waiting.size ?? 0, isFull: this.#isFull(running) };
  }

  /** Whether a task of another key waits. */
  isAwaited(key: Key): boolean {
    for (const [other, { waiting }] of this.#lines) if (other !== key && waiting.size > 0) return true;
    return false;
  }

  /** @param running number of running tasks of the key */
  #isFull(running: number): boolean {
    return this.#running >= this.#options.slots || running >= this.#options.perKey;
  }

  /** Takes a slot. @returns null if one was free, otherwise a promise of one */
  #claim(key: Key, options: WaitOptions): Promise<void> | null {
    const { maxWaiting = Infinity, refusal = refused } = { ...this.#options, ...options };
    options.signal?.throwIfAborted();
    const line = this.#lines.get(key) ?? { running: 0, waiting: new Map() };
    if (!this.#isFull(line.running)) {
      this.#take(key, line);
      return null;
    }
    if (line.waiting.size >= maxWaiting) throw refusal();
    this.#lines.set(key, line);
    return this.#wait(key, line, { ...options, refusal });
  }

  #wait(
    key: Key,
    line: Line,
    { refusal, signal, order = 0 }: WaitOptions & { refusal: () => Error },
  ): Promise<void> {
    const { waitMs } = this.#options;
    return new Promise((resolve, reject) => {
      const stopWaiting = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
        line.waiting.delete(begin);
      };
      const begin = () => {
        stopWaiting();
        this.#take(key, line);
        resolve();
      };
      const giveUp = (reason: Error) => {
        stopWaiting();
        this.#forgetIfIdle(key, line);
        reject(reason);
      };
      const abort = () => giveUp(signal?.reason as Error);
      const timer = waitMs === undefined ? undefined : setTimeout(() => giveUp(refusal()), waitMs);
      signal?.addEventListener('abort', abort, { once: true });
      line.waiting.set(begin, order);
    });
  }

  #take(key: Key, line: Line): void {
    line.running += 1;
    this.#running += 1;
    // The key is served now, so it goes behind all others.
    this.#lines.delete(key);
    this.#lines.set(key, line);
  }

  #leave(key: Key): void {
    const line = this.#lines.get(key) as Line;
    line.running -= 1;
    this.#running -= 1;
    this.#forgetIfIdle(key, line);
    // No waiting task could begin before, so one free slot lets at most one begin.
    const waiting = this.#next()?.waiting;
    if (waiting) firstOf(waiting)();
  }

  /** The line that a free slot goes to. @returns null if no task may begin */
  #next(): Line | null {
    let next: Line | null = null;
    for (const line of this.#lines.values()) {
      const mayBegin = line.waiting.size > 0 && !this.#isFull(line.running);
      if (mayBegin && (next === null || line.running < next.running)) next = line;
    }
    return next;
  }

  #forgetIfIdle(key: Key, line: Line): void {
    if (line.running + line.waiting.size === 0) this.#lines.delete(key);
  }
}
