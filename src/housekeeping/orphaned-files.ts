import { createHomeStore } from '../storage/local-disk.ts';
import { clearOrphanedFiles } from '../uploads/service.ts';
import { daysBefore } from './batches.ts';
import type { HousekeepingTask } from './task.ts';

/** Far longer than an upload lasts, or clocks of hosts that share the folder differ. */
const ORPHAN_DAYS = 1;
/** Time to notice that files are missing, and to put them back. */
const ASIDE_DAYS = 30;

/** Uploaded files whose row was never committed or is gone, and half-written ones. */
export const orphanedFiles: HousekeepingTask = {
  name: 'orphaned_files',
  run({ config, database }, asOf, progress) {
    const store = createHomeStore(config.CARILLON_HOME);
    const before = daysBefore(asOf, ORPHAN_DAYS);
    const asideBefore = daysBefore(asOf, ASIDE_DAYS);
    return clearOrphanedFiles({ db: database.pool, store, before, asideBefore, progress });
  },
};
