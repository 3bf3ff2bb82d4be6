import { batchTask, daysBefore } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';

/** Kept for a day, so that the clocks of the processes that sign answers need not agree. */
const expiredConfirmations = batchTask(
  'mcp_confirmations',
  `delete from mcp_confirmations where digest = any (array(
     select digest from mcp_confirmations where expires_at < $1 limit $2))`,
  (_deps, asOf) => daysBefore(asOf, 1),
);

export const mcpUpkeep: Upkeep = { tasks: [expiredConfirmations] };
