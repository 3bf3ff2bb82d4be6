import { setImmediate as nextTurn } from 'node:timers/promises';

/** Parsing or hashing an address takes up to 40 µs on a slow machine, so a turn of the event loop takes up to 10 ms. */
const ITEMS_PER_TURN = 250;
/**
 * Number of items between two checks of the time, for items that take longer, such as invalid events with many
 * problems.
 */
const ITEMS_PER_LOOK = 10;
const MAX_TURN_MS = 5;

/**
 * Maps many items without blocking the event loop: after a few hundred items, or fewer if they take long, it lets
 * everything else that is ready run.
 * @param map takes microseconds
 */
export async function mapInTurns<Item, Result>(
  items: readonly Item[],
  map: (item: Item) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  let turnBegan = performance.now();
  let inTurn = 0;
  for (let start = 0; start < items.length; start += ITEMS_PER_LOOK) {
    if (inTurn >= ITEMS_PER_TURN || performance.now() - turnBegan > MAX_TURN_MS) {
      await nextTurn();
      turnBegan = performance.now();
      inTurn = 0;
    }
    const next = items.slice(start, start + ITEMS_PER_LOOK);
    for (const item of next) results.push(map(item));
    inTurn += next.length;
  }
  return results;
}

/**
 * Maps many items, several at a time, by a function that mostly waits, and lets everything else that is ready run as
 * {@link mapInTurns} does. After an error, it begins no further items, and throws once those under way have ended.
 * @param atOnce number of items under way
 */
export async function mapSeveral<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  map: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  let hasFailed = false;
  let turnBegan = performance.now();
  async function mapNext(): Promise<void> {
    while (next < items.length && !hasFailed) {
      const place = next;
      next += 1;
      try {
        results[place] = await map(items[place] as Item);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
      if (performance.now() - turnBegan > MAX_TURN_MS) {
        await nextTurn();
        turnBegan = performance.now();
      }
    }
  }
  const done = await Promise.allSettled(Array.from({ length: Math.min(atOnce, items.length) }, mapNext));
  for (const each of done) if (each.status === 'rejected') throw each.reason;
  return results;
}
