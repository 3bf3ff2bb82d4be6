import { orphanedFilesTask } from '../../platform/housekeeping/orphaned-files.ts';
import { batchTask, daysBefore } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';
import { USED_SQL } from './references.ts';

const UNUSED_DAYS = 30;

/**
 * Deletes uploads that no avatar, banner or logo refers to, and that are not kept for letters. Housekeeping then removes
 * their files, as all files without a row.
 */
const unusedUploads = batchTask(
  'unused_uploads',
  `delete from uploads where id = any (array(
     select u.id from uploads u where u.created_at < $1 and not u.kept and not ${USED_SQL} limit $2))`,
  (_deps, asOf) => daysBefore(asOf, UNUSED_DAYS),
);

export const uploadsUpkeep: Upkeep = {
  tasks: [
    unusedUploads,
    orphanedFilesTask('orphaned_files', {
      kind: 'uploads',
      keysSql: 'select id, storage_key as key from uploads',
    }),
  ],
};
