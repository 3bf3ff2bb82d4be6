import { setImmediate as nextTurn } from 'node:timers/promises';

/** Parsing or hashing an address takes up to 40 µs on a slow machine, so that a turn of the event loop takes 10 ms. */
const ITEMS_PER_TURN = 250;

/**
 * Maps many items without holding up the event loop: between some hundreds of them, everything else that is ready runs.
 * @param map takes microseconds
 */
export async function mapInTurns<Item, Result>(
  items: readonly Item[],
  map: (item: Item) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let start = 0; start < items.length; start += ITEMS_PER_TURN) {
    if (start > 0) await nextTurn();
    for (const item of items.slice(start, start + ITEMS_PER_TURN)) results.push(map(item));
  }
  return results;
}
