import { batchTask, daysBefore, type HousekeepingTask } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';
import { advanceWarmUps } from './warm-up.ts';
import { domainSource } from './workflow.ts';

/** How long a deleted domain counts among the names of its account. */
const DELETED_DAYS = 1;

/** Registrations that still have to be removed at their provider stay, for operators. */
const deletedRegistrations = batchTask(
  'deleted_registrations',
  `delete from provider_registrations where domain_id = any (array(
     select domain_id from provider_registrations where deleted_at < $1 and not created and not creating limit $2))`,
  (_deps, asOf) => daysBefore(asOf, DELETED_DAYS),
);

/** Raises the daily volumes of domains that are warming up. */
const warmUps: HousekeepingTask = {
  name: 'warm_ups',
  run: ({ config, database }, asOf) => advanceWarmUps(database.pool, config.WARM_UP_SCHEDULE, asOf),
};

export const domainsUpkeep: Upkeep = {
  tasks: [deletedRegistrations, warmUps],
  expectedWorkflows: [domainSource],
};
