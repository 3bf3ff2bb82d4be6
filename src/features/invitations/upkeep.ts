import { batchTask, daysBefore } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';

const KEPT_DAYS = 90;

/** Deletes old invitations, whether or not they were accepted. Newer ones count against the limits. */
const oldInvitations = batchTask(
  'invitations',
  `delete from invitations where id = any (array(
     select id from invitations where expires_at < $1 limit $2))`,
  (_deps, asOf) => daysBefore(asOf, KEPT_DAYS),
);

export const invitationsUpkeep: Upkeep = { tasks: [oldInvitations] };
