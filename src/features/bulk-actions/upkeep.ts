import { batchTask, daysBefore } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';
import { bulkActionSource } from './workflow.ts';

/** How long a bulk action is listed after it has ended. */
const KEPT_DAYS = 90;

const oldBulkActions = batchTask(
  'old_bulk_actions',
  `delete from bulk_actions where id = any (array(
     select id from bulk_actions where finished_at < $1 limit $2))`,
  (_deps, asOf) => daysBefore(asOf, KEPT_DAYS),
);

export const bulkActionsUpkeep: Upkeep = {
  tasks: [oldBulkActions],
  expectedWorkflows: [bulkActionSource],
};
