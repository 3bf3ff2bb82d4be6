import { orphanedFilesTask } from '../../platform/housekeeping/orphaned-files.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';

export const submissionUpkeep: Upkeep = {
  tasks: [
    orphanedFilesTask('orphaned_submissions', {
      kind: 'submissions',
      // No row ever names one: a mail is stored only while it is read, and its client gets its reply after that.
      keysSql: `select 0 as id, '' as key where false`,
    }),
  ],
};
