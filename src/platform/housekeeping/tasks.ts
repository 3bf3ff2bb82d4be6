import { IDEMPOTENCY_DAYS } from '../db/idempotency.ts';
import { keepPartitionsOf } from '../db/partitions.ts';
import { holdsLockSql } from '../processes/liveness-lock.ts';
import { ownsNothingSql } from '../processes/process.ts';
import { batchTask, daysBefore, type HousekeepingTask, inBatches } from './task.ts';

const SILENT_PROCESS_DAYS = 1;

/** Deletes idempotency keys after 7 days. A locked key is in use by a request right now and is skipped. */
export const idempotencyKeys = batchTask(
  'idempotency_keys',
  `delete from idempotency_keys where ctid = any (array(
     select ctid from idempotency_keys where created_at < $1 limit $2 for update skip locked))`,
  (_deps, asOf) => daysBefore(asOf, IDEMPOTENCY_DAYS),
);

/**
 * Deletes the rows of processes that died while no reaper ran. The row of a process that still owns work stays until
 * the reaper has recovered that work.
 */
export const deadProcesses: HousekeepingTask = {
  name: 'dead_processes',
  run(deps, asOf, progress) {
    const statement = `delete from processes where id = any (array(
      select p.id from processes p
      where p.seen_at < $1 and not ${holdsLockSql('p.id')} and ${ownsNothingSql(deps.processWork, 'p.id')}
      limit $2))`;
    return inBatches(deps, statement, [daysBefore(asOf, SILENT_PROCESS_DAYS)], progress);
  },
};

/** Makes the partitions of the days ahead and drops old ones. */
export const dailyPartitions: HousekeepingTask = {
  name: 'partitions',
  async run({ database, partitions }, asOf, progress) {
    const { made, dropped } = await keepPartitionsOf(database.pool, partitions, asOf);
    progress();
    return made.length + dropped.length;
  },
};
