import type { Queryable } from './queryable.ts';

const LARGEST_BLOCK = 512;
const STALE_MS = 1_000;

/**
 * Ids taken from a sequence ahead of the rows, so that rows whose commit was not seen can be looked up.
 * A block is dropped after a second, so ids of different processes stay in the order of time to about that; blocks
 * grow while they are used up sooner, so a quiet service leaves no gaps.
 */
export interface IdAllocator {
  take(count: number): Promise<number[]>;
}

/** @param sequence a name from the schema, never from outside */
export function createIdAllocator(
  client: Queryable,
  sequence: string,
  clock: () => number = Date.now,
): IdAllocator {
  let ids: number[] = [];
  let takenAt = 0;
  let block = 1;
  return {
    async take(count) {
      const stale = clock() - takenAt > STALE_MS;
      if (stale) ids = [];
      const taken = ids.splice(0, count);
      if (taken.length === count) return taken;
      block = stale ? 1 : Math.min(block * 2, LARGEST_BLOCK);
      const { rows } = await client.query<{ id: number }>({
        name: `allocate_${sequence}`,
        text: `select nextval('${sequence}') as id from generate_series(1, $1)`,
        values: [Math.max(block, count - taken.length)],
      });
      takenAt = clock();
      const fresh = rows.map((row) => row.id);
      taken.push(...fresh.splice(0, count - taken.length));
      ids = fresh;
      return taken;
    },
  };
}
