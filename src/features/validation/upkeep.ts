import { daysBefore, type HousekeepingTask, inBatches } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';
import { validationSource } from './workflow.ts';

/** How long items are kept after their operation has ended. */
const ITEM_DAYS = 90;

/** Removes items that are old enough, and marks the operations that have none left. */
const validationItems: HousekeepingTask = {
  name: 'validation_items',
  async run(deps, asOf, progress) {
    const before = daysBefore(asOf, ITEM_DAYS);
    const removed = await inBatches(
      deps,
      `delete from validation_items where id = any(array(
         select i.id from validation_operations o join validation_items i on i.operation_id = o.id
         where o.finished_at < $1 and o.items_removed_at is null limit $2))`,
      [before],
      progress,
    );
    await inBatches(
      deps,
      `update validation_operations set items_removed_at = now() where id = any(array(
         select o.id from validation_operations o where o.finished_at < $1 and o.items_removed_at is null
           and not exists (select 1 from validation_items i where i.operation_id = o.id) limit $2))`,
      [before],
      progress,
    );
    return removed;
  },
};

export const validationUpkeep: Upkeep = {
  tasks: [validationItems],
  expectedWorkflows: [validationSource],
};
