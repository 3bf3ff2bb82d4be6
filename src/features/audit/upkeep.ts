import { batchTask, daysBefore } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';

const AUDIT_DAYS = 400;

const oldEntries = batchTask(
  'audit_entries',
  `delete from audit_entries where id = any (array(
     select id from audit_entries where created_at < $1 limit $2))`,
  (_deps, asOf) => daysBefore(asOf, AUDIT_DAYS),
);

export const auditUpkeep: Upkeep = { tasks: [oldEntries] };
