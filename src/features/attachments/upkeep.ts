import { orphanedFilesTask } from '../../platform/housekeeping/orphaned-files.ts';
import { batchTask, type HousekeepingTask } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';
import { createHomeStore } from '../../platform/storage/local-disk.ts';
import { removeUnusedFiles } from './removal.ts';

/** Deletes uploads that messages can no longer name. */
const expiredUploads = batchTask(
  'expired_attachments',
  `delete from attachment_uploads where id = any(array(
     select id from attachment_uploads where expires_at <= $1 limit $2))`,
);

/** Workers remove files within a second; this is for the time in which none runs. */
const unusedFiles: HousekeepingTask = {
  name: 'unused_attachments',
  run: ({ config, database: { pool } }, asOf, progress) =>
    removeUnusedFiles({ pool, store: createHomeStore(config.CARILLON_HOME) }, asOf, progress),
};

export const attachmentsUpkeep: Upkeep = {
  tasks: [
    expiredUploads,
    unusedFiles,
    orphanedFilesTask('orphaned_attachments', {
      kind: 'attachments',
      // Keys are random: any hundred of them show whether the folder is this installation's.
      keysSql: `select 0 as id, storage_key as key from attachment_files
        union all select 0, storage_key from attachment_removed_files`,
    }),
  ],
};
