import type { Queryable } from './queryable.ts';

const MAX_BLOCK = 512;
const STALE_MS = 1_000;

/**
 * Takes ids from a sequence before the rows are inserted, so that rows can be looked up if the result of their commit
 * was lost. Ids are taken in blocks. A block is dropped after a second, so the ids of all processes are in order of
 * time, to about a second. Blocks grow only while they are used up within that time, so a quiet service leaves few
 * gaps.
 */
export interface IdAllocator {
  take(count: number): Promise<number[]>;
}

/** @param sequence a name from the schema, never from user input: it becomes part of the SQL */
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
      block = stale ? 1 : Math.min(block * 2, MAX_BLOCK);
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
