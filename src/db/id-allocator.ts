import type { Queryable } from './queryable.ts';

const BLOCK = 200;
const STALE_MS = 1_000;

/**
 * Ids taken from a sequence ahead of the rows, so that rows whose commit was not seen can be looked up.
 * A block is dropped after a second: ids of different processes stay in the order of time to about that.
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
  return {
    async take(count) {
      if (clock() - takenAt > STALE_MS) ids = [];
      const taken = ids.splice(0, count);
      if (taken.length === count) return taken;
      const { rows } = await client.query<{ id: number }>({
        name: `allocate_${sequence}`,
        text: `select nextval('${sequence}') as id from generate_series(1, $1)`,
        values: [Math.max(BLOCK, count)],
      });
      takenAt = clock();
      const fresh = rows.map((row) => row.id);
      taken.push(...fresh.splice(0, count - taken.length));
      ids = fresh;
      return taken;
    },
  };
}
