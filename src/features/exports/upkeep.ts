import { orphanedFilesTask } from '../../platform/housekeeping/orphaned-files.ts';
import { batchTask, daysBefore, type HousekeepingTask } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';
import { createHomeStore } from '../../platform/storage/local-disk.ts';
import { exportSource } from './workflow.ts';

const PARTS_AT_ONCE = 200;
/** How long an export is listed after it has ended. */
const KEPT_DAYS = 90;

/** Removes the files of exports that expired, failed or were canceled. */
const expiredExports: HousekeepingTask = {
  name: 'expired_exports',
  async run({ config, database: { pool } }, asOf, progress) {
    const store = createHomeStore(config.CARILLON_HOME);
    for (let total = 0; ;) {
      const { rows } = await pool.query<{ id: number; storage_key: string }>(
        `select p.id, p.storage_key from exports e join export_parts p on p.export_id = e.id
         where e.expires_at <= $1 limit $2`,
        [asOf, PARTS_AT_ONCE],
      );
      // Remove the files first: a file without a row would be kept for another month.
      for (const { storage_key: key } of rows) await store.remove(key);
      await pool.query('delete from export_parts where id = any($1)', [rows.map(({ id }) => id)]);
      total += rows.length;
      progress();
      if (rows.length < PARTS_AT_ONCE) return total;
    }
  },
};

const oldExports = batchTask(
  'old_exports',
  `delete from exports where id = any (array(
     select e.id from exports e where e.finished_at < $1
       and not exists (select 1 from export_parts p where p.export_id = e.id) limit $2))`,
  (_deps, asOf) => daysBefore(asOf, KEPT_DAYS),
);

export const exportsUpkeep: Upkeep = {
  tasks: [
    expiredExports,
    oldExports,
    orphanedFilesTask('orphaned_export_files', {
      kind: 'exports',
      keysSql: 'select id, storage_key as key from export_parts',
    }),
  ],
  expectedWorkflows: [exportSource],
};
