import { batchTask } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';

/** Links that were used stay until they expire: they count against the limit of mails. */
const oldResets = batchTask(
  'password_resets',
  `delete from password_resets where id = any (array(
     select id from password_resets where expires_at < $1 limit $2))`,
);

export const usersUpkeep: Upkeep = { tasks: [oldResets] };
