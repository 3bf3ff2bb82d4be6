/** Groups work by brand, so that no brand delays another. */

/** The result of one item, or `again`: retry it after the work of other brands. */
export type ItemOutcome<Result> = { result: Result } | 'again';

export interface BrandCoalescerOptions<Item, Result> {
  /** Maximum number of items in a group. */
  maxGroupSize: number;
  /** Maximum number of brands whose groups run at the same time. */
  atOnce: number;
  /** Runs a group of one brand. @returns the outcomes, in the group's order. An error fails every item of the group */
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

/** Runs one group of each brand at a time. Brands take turns. */
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
      // The brand's remaining items go behind the other brands.
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
        // Items submitted in this turn of the event loop form one group.
        setImmediate(startAll);
      }),
  };
}
