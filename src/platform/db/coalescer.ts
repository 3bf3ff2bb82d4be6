/**
 * Groups calls that arrive together into one statement. Items that arrive during a write, or shortly after its start,
 * form the next group.
 */
export interface Coalescer<Item, Result> {
  submit(item: Item): Promise<Result>;
}

export interface CoalescerOptions<Item, Result> {
  maxGroupSize: number;
  /** Ends a group before the item that would make it exceed `max`. An item larger than `max` is a group of its own. */
  bytes?: { of: (item: Item) => number; max: number };
  /** Maximum number of groups that are written at the same time. */
  concurrency: number;
  /**
   * Minimum time between the starts of two groups, in which items gather. A lone item after a pause does not wait, and
   * neither does a full group.
   */
  intervalMs?: number;
  /** Writes a group and returns the results in its order. An error fails every item of the group. */
  run: (group: Item[]) => Promise<Result[]>;
}

interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/** Number of waiting items that form the next group. */
function nextSize<Item>(
  waiting: readonly { item: Item }[],
  { maxGroupSize, bytes }: Pick<CoalescerOptions<Item, unknown>, 'maxGroupSize' | 'bytes'>,
): number {
  const items = waiting.slice(0, maxGroupSize).map(({ item }) => item);
  if (!bytes) return items.length;
  let total = 0;
  const excess = items.findIndex((item, index) => (total += bytes.of(item)) > bytes.max && index > 0);
  return excess === -1 ? items.length : excess;
}

export function createCoalescer<Item, Result>(
  options: CoalescerOptions<Item, Result>,
): Coalescer<Item, Result> {
  const waiting: Waiting<Item, Result>[] = [];
  const { intervalMs = 0 } = options;
  let running = 0;
  let scheduled = false;
  let startedAt = -Infinity;
  let pause: NodeJS.Timeout | null = null;

  async function run(): Promise<void> {
    const group = waiting.splice(0, nextSize(waiting, options));
    if (group.length === 0) return;
    running += 1;
    startedAt = performance.now();
    const settle = await options.run(group.map((each) => each.item)).then(
      (results) => () => group.forEach((each, index) => each.resolve(results[index] as Result)),
      (error: unknown) => () => group.forEach((each) => each.reject(error)),
    );
    running -= 1;
    if (waiting.length === 0) return settle();
    if (pauseMs() > 0) {
      schedule();
      return settle();
    }
    // Send the next group to the database before the callers of this one run.
    void run();
    setImmediate(settle);
  }

  /**
   * How long the next group has to wait, in ms; 0 if less than a millisecond, because timers are too coarse for that.
   */
  function pauseMs(): number {
    const waitMs = startedAt + intervalMs - performance.now();
    return waitMs >= 1 && waiting.length < options.maxGroupSize ? waitMs : 0;
  }

  function start(): void {
    scheduled = false;
    pause = null;
    void run();
    if (waiting.length > 0) schedule();
  }

  function schedule(): void {
    if (running >= options.concurrency) return;
    const waitMs = pauseMs();
    if (pause && waitMs === 0) {
      clearTimeout(pause);
      pause = null;
    } else if (scheduled) return;
    scheduled = true;
    if (waitMs > 0) pause = setTimeout(start, waitMs);
    // Wait for the I/O of this turn of the event loop, so that requests read in the same turn form one group.
    else setImmediate(start);
  }

  return {
    submit: (item) =>
      new Promise((resolve, reject) => {
        waiting.push({ item, resolve, reject });
        schedule();
      }),
  };
}
