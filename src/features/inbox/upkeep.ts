import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';
import type { HousekeepingTask } from '../../platform/housekeeping/task.ts';
import { createHomeStore } from '../../platform/storage/local-disk.ts';
import { orphanedInboxFiles } from './receive/orphaned-files.ts';
import {
  oldDigests,
  oldQuarantine,
  oldRawMail,
  storedBytes,
  unfilledMail,
  unusedSharedFiles,
} from './retention/old-mail.ts';
import { removeFiles } from './retention/remove-files.ts';
import { scanSource } from './scan/workflow.ts';

/** The mail role removes files each minute; this is for the time in which none runs. */
const removedFiles: HousekeepingTask = {
  name: 'inbox_removed_files',
  run: ({ config, database: { pool } }, _asOf, progress) =>
    removeFiles({ pool, store: createHomeStore(config.CARILLON_HOME) }, progress),
};

export const inboxUpkeep: Upkeep = {
  tasks: [
    unfilledMail,
    oldRawMail,
    oldQuarantine,
    oldDigests,
    unusedSharedFiles,
    removedFiles,
    orphanedInboxFiles,
    storedBytes,
  ],
  expectedWorkflows: [scanSource],
};
