import { batchTask } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';

/** Removes pages of brands that make no more previews; each new one removes those of its brand. */
const expiredPreviews = batchTask(
  'expired_previews',
  `delete from previews where id = any (array(
     select id from previews where expires_at < $1 order by id limit $2))`,
);

export const previewsUpkeep: Upkeep = { tasks: [expiredPreviews] };
