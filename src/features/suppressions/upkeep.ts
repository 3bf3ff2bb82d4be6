import { batchTask, daysBefore } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';

/** Records of who ended a complaint or a hard bounce are never deleted. */
const KEPT_DAYS = 400;

const oldReleases = batchTask(
  'suppression_releases',
  `delete from suppression_releases where id = any (array(
     select id from suppression_releases where created_at < $1 and reason in ('manual', 'soft_bounce') limit $2))`,
  (_deps, asOf) => daysBefore(asOf, KEPT_DAYS),
);

export const suppressionsUpkeep: Upkeep = { tasks: [oldReleases] };
