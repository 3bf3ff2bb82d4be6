import type pg from 'pg';
import type { Logger } from 'pino';
import { repeat, type Repeating } from '../../platform/processes/repeat.ts';
import { foldCounts } from './counts.ts';
import { removeDeletedLists } from './removal.ts';

const PAUSE_MS = 1_000;

/** Folds counts of contacts and removes deleted lists every second. Any number of processes may run this. */
export function startListUpkeep({ pool, log }: { pool: pg.Pool; log: Logger }): Repeating {
  return repeat(
    async () => {
      const moreChanges = await foldCounts(pool);
      const moreMembers = await removeDeletedLists(pool);
      return moreChanges || moreMembers ? 0 : PAUSE_MS;
    },
    { log, name: 'folding counts of contacts' },
  );
}
