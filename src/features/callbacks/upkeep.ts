import { batchTask, daysBefore } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';

/** Longer than any service retries a callback, and than any provider kind accepts its signature. */
const TOKEN_DAYS = 3;

const usedTokens = batchTask(
  'callback_tokens',
  `delete from callback_tokens where ctid = any (array(
     select ctid from callback_tokens where used_at < $1 limit $2))`,
  (_deps, asOf) => daysBefore(asOf, TOKEN_DAYS),
);

export const callbacksUpkeep: Upkeep = { tasks: [usedTokens] };
