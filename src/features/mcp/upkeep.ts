import { batchTask, daysBefore } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';

/** Kept for a day, so that the clocks of the processes that sign answers need not agree. */
const expiredConfirmations = batchTask(
  'mcp_confirmations',
  `delete from mcp_confirmations where digest = any (array(
     select digest from mcp_confirmations where expires_at < $1 limit $2))`,
  (_deps, asOf) => daysBefore(asOf, 1),
);

const CALL_DAYS = 90;

const oldCalls = batchTask(
  'mcp_calls',
  `delete from mcp_calls where id = any (array(
     select id from mcp_calls where created_at < $1 limit $2))`,
  (_deps, asOf) => daysBefore(asOf, CALL_DAYS),
);

export const mcpUpkeep: Upkeep = { tasks: [expiredConfirmations, oldCalls] };
