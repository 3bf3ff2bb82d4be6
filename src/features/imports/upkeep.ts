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

/** Clears old examples of columns and samples of encodings, because they are personal, too. */
const importExamples = batchTask(
  'import_examples',
  `update imports set examples = null, example_keys = null, encoding = encoding - 'samples' where id = any(array(
     select id from imports where (examples is not null or encoding ? 'samples') and created_at < $1 limit $2))`,
  (_deps, asOf) => daysBefore(asOf, ERROR_DAYS),
);

/** A contact that changes at the moment when its import ends leaves claims that nothing else removes. */
const importAddresses = batchTask(
  'import_addresses',
  `delete from import_addresses where ctid = any(array(
     select a.ctid from import_addresses a join imports i on i.id = a.import_id
     where i.finished_at < $1 and i.storage_key is null limit $2))`,
);

export const importsUpkeep: Upkeep = {
  tasks: [
    importErrors,
    importExamples,
    importAddresses,
    orphanedFilesTask('orphaned_imports', {
      kind: 'imports',
      keysSql: 'select id, storage_key as key from imports where storage_key is not null',
    }),
  ],
  expectedWorkflows: [importSource],
};
