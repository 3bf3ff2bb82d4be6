import { orphanedFilesTask } from '../../platform/housekeeping/orphaned-files.ts';
import { batchTask, daysBefore } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';
import { ERROR_DAYS } from './schema.ts';
import { importSource } from './workflow.ts';

/** Deletes old failed rows, because they contain addresses. The import and its counts stay. */
const importErrors = batchTask(
  'import_errors',
  `delete from import_errors e using (
     select import_id, row_number from import_errors where created_at < $1 limit $2) old
   where e.import_id = old.import_id and e.row_number = old.row_number`,
  (_deps, asOf) => daysBefore(asOf, ERROR_DAYS),
);

export const importsUpkeep: Upkeep = {
  tasks: [
    importErrors,
    orphanedFilesTask('orphaned_imports', {
      kind: 'imports',
      keysSql: 'select id, storage_key as key from imports where storage_key is not null',
    }),
  ],
  expectedWorkflows: [importSource],
};
