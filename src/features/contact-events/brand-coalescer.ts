/** Groups work by brand, and lets no brand hold up another. */

/** What became of one item: its result, or it is to be tried again, behind the work of other brands. */
export type ItemOutcome<Result> = { result: Result } | 'again';

export interface BrandCoalescerOptions<Item, Result> {
  /** Items of a group at most. */
  maxGroupSize: number;
  /** Brands whose groups run at the same time. */
  atOnce: number;
  /** Runs a group of one brand. @returns the outcomes in its order. An error fails every item of the group */
  run: (group: readonly Item[]) => Promise<readonly ItemOutcome<Result>[]>;
}

export interface BrandCoalescer<Item, Result> {
  submit(brandId: number, item: Item): Promise<Result>;
}

interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/** Each brand has one group at a time, and brands take turns. */
export function createBrandCoalescer<Item, Result>({
  maxGroupSize,
  atOnce,
  run,
}: BrandCoalescerOptions<Item, Result>): BrandCoalescer<Item, Result> {
  /** In the order of their turns. */
  const waiting = new Map<number, Waiting<Item, Result>[]>();
  const running = new Set<number>();
  let scheduled = false;

  function put(brandId: number, items: readonly Waiting<Item, Result>[]): void {
    const before = waiting.get(brandId);
    if (before) before.push(...items);
    else if (items.length > 0) waiting.set(brandId, [...items]);
  }

  async function runGroup(brandId: number, group: readonly Waiting<Item, Result>[]): Promise<void> {
    const again: Waiting<Item, Result>[] = [];
    try {
      const outcomes = await run(group.map(({ item }) => item));
      group.forEach((each, index) => {
        const outcome = outcomes[index];
        if (typeof outcome === 'object') each.resolve(outcome.result);
        else again.push(each);
      });
    } catch (error) {
      for (const each of group) each.reject(error);
    }
    running.delete(brandId);
    put(brandId, again);
    startAll();
  }

  function startAll(): void {
    scheduled = false;
    for (const [brandId, items] of waiting) {
      if (running.size >= atOnce) return;
      if (running.has(brandId)) continue;
      const group = items.slice(0, maxGroupSize);
      // The brand goes behind the others with what is left.
      waiting.delete(brandId);
      put(brandId, items.slice(maxGroupSize));
      running.add(brandId);
      void runGroup(brandId, group);
    }
  }

  return {
    submit: (brandId, item) =>
      new Promise((resolve, reject) => {
        put(brandId, [{ item, resolve, reject }]);
        if (scheduled) return;
        scheduled = true;
        // What is submitted in this turn of the event loop forms one group.
        setImmediate(startAll);
      }),
  };
}
