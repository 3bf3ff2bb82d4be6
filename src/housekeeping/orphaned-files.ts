import { createHomeStore } from '../storage/local-disk.ts';
import { removeOrphanedFiles } from '../uploads/service.ts';
import { daysBefore } from './batches.ts';
import type { HousekeepingTask } from './task.ts';

/** Far longer than an upload lasts, or clocks of hosts that share the folder differ. */
const ORPHAN_DAYS = 1;

/** Uploaded files whose row was never committed or is gone, and half-written ones. */
export const orphanedFiles: HousekeepingTask = {
  name: 'orphaned_files',
  run({ config, database }, asOf, progress) {
    const store = createHomeStore(config.CARILLON_HOME);
    return removeOrphanedFiles({ db: database.pool, store, before: daysBefore(asOf, ORPHAN_DAYS), progress });
  },
};
