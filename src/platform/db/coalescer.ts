/**
 * Groups calls that arrive together into one statement.
 * What arrives while a group is being written makes the next one, so nobody waits for a timer under load.
 */
export interface Coalescer<Item, Result> {
  submit(item: Item): Promise<Result>;
}

export interface CoalescerOptions<Item, Result> {
  most: number;
  /** Groups written at once. */
  concurrency: number;
  /** Results in the group's order. An error is everybody's: `run` deals with those that are not. */
  run: (group: Item[]) => Promise<Result[]>;
}

interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

export function createCoalescer<Item, Result>(
  options: CoalescerOptions<Item, Result>,
): Coalescer<Item, Result> {
  let waiting: Waiting<Item, Result>[] = [];
  let running = 0;
  let scheduled = false;

  async function run(): Promise<void> {
    const group = waiting.slice(0, options.most);
    waiting = waiting.slice(options.most);
    if (group.length === 0) return;
    running += 1;
    const settle = await options.run(group.map((each) => each.item)).then(
      (results) => () => group.forEach((each, index) => each.resolve(results[index] as Result)),
      (error: unknown) => () => group.forEach((each) => each.reject(error)),
    );
    running -= 1;
    if (waiting.length === 0) return settle();
    // The next group is on its way to the database before this one's callers take their turn.
    void run();
    setImmediate(settle);
  }

  function schedule(): void {
    if (scheduled || running >= options.concurrency) return;
    scheduled = true;
    // After this turn's I/O, so that requests read in the same turn travel together.
    setImmediate(() => {
      scheduled = false;
      void run();
      if (waiting.length > 0) schedule();
    });
  }

  return {
    submit: (item) =>
      new Promise((resolve, reject) => {
        waiting.push({ item, resolve, reject });
        schedule();
      }),
  };
}
