import type pg from 'pg';
import type { Pulse } from '../../platform/processes/pulse.ts';
import type { Repeating } from '../../platform/processes/repeat.ts';
import { foldCounts } from './counts.ts';
import { removeDeletedLists } from './removal.ts';

/** Folds counts of contacts and removes deleted lists, within a second. Any number of processes may run this. */
export function startListUpkeep({ pool, pulse }: { pool: pg.Pool; pulse: Pulse }): Repeating {
  const queue = {
    name: 'folding counts of contacts',
    waiting: `exists (select from audience_count_changes)
      or exists (select from lists where removed_at is not null)`,
  };
  return pulse.repeat(queue, async () => {
    const moreChanges = await foldCounts(pool);
    const moreMembers = await removeDeletedLists(pool);
    return moreChanges || moreMembers;
  });
}
