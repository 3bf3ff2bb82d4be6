import type { Queryable } from '../../platform/db/queryable.ts';
import { batchTask, daysBefore, type HousekeepingTask } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';
import type { BlobStore } from '../../platform/storage/blob-store.ts';
import { createHomeStore } from '../../platform/storage/local-disk.ts';
import { USED_SQL } from './references.ts';

/** Far longer than any upload, and far more than the clocks of hosts that share the folder can differ. */
const ORPHAN_DAYS = 1;
/** Leaves time to notice that files are missing, and to move them back. */
const ASIDE_DAYS = 30;
const BATCH_FILES = 1_000;
const SAMPLE_ROWS = 100;

const UNUSED_DAYS = 30;

/** Deletes uploads that no avatar, banner or logo refers to. Their files are cleared like all files without a row. */
const unusedUploads = batchTask(
  'unused_uploads',
  `delete from uploads where id = any (array(
     select u.id from uploads u where u.created_at < $1 and not ${USED_SQL} limit $2))`,
  (_deps, asOf) => daysBefore(asOf, UNUSED_DAYS),
);

/** Clears uploaded files whose row was never committed or is gone, and half-written files. */
export const orphanedFiles: HousekeepingTask = {
  name: 'orphaned_files',
  run({ config, database }, asOf, progress) {
    const store = createHomeStore(config.CARILLON_HOME);
    const before = daysBefore(asOf, ORPHAN_DAYS);
    const asideBefore = daysBefore(asOf, ASIDE_DAYS);
    return clearOrphanedFiles({ db: database.pool, store, before, asideBefore, progress });
  },
};

export const uploadsUpkeep: Upkeep = { tasks: [unusedUploads, orphanedFiles] };

export interface OrphanSearch {
  db: Queryable;
  store: BlobStore;
  /** Files written after this time stay: their row may not be committed yet. */
  before: Date;
  /** Files set aside before this time are removed. */
  asideBefore: Date;
  /** Called after each batch. */
  progress: () => void;
}

/**
 * Sets aside files that no row refers to: files of an upload whose process died between file and row, and files of an
 * account that is gone. Files set aside long ago are removed, if still no row refers to them. Half-written files are
 * removed directly. If none of the 100 newest rows has its file in the folder, only half-written files are removed.
 *
 * Each batch of files is listed first and its rows are looked up afterwards: the file of an upload in progress is then
 * either young or has a row.
 *
 * Files are set aside before they are removed because the rows may be missing only here: in a clone of the database
 * that shares the original's folder, or in a backup that is older than the files.
 * @returns the number of files set aside or removed
 */
export async function clearOrphanedFiles(search: OrphanSearch): Promise<number> {
  const { db, store, before, asideBefore, progress } = search;
  const isOurFolder = await hasNewestFiles(search);
  let cleared = 0;
  for await (const { keys, drafts } of store.list('uploads', BATCH_FILES)) {
    cleared += await store.removeOlder(drafts, before);
    if (isOurFolder) cleared += await store.setAside(await withoutRow(db, keys), before);
    progress();
  }
  if (!isOurFolder) return cleared;
  for await (const { keys } of store.aside.list('uploads', BATCH_FILES)) {
    cleared += await store.aside.removeOlder(await withoutRow(db, keys), asideBefore);
    progress();
  }
  return cleared;
}

/**
 * Whether the folder belongs to this database. Files of another database have no rows here, and must not be removed.
 */
async function hasNewestFiles({ db, store }: OrphanSearch): Promise<boolean> {
  const { rows } = await db.query<{ key: string }>(
    'select storage_key as key from uploads order by id desc limit $1',
    [SAMPLE_ROWS],
  );
  for (const { key } of rows) {
    const blob = await store.open(key);
    blob?.stream.destroy();
    if (blob) return true;
  }
  return false;
}

/** Returns those of the keys that no row refers to. */
async function withoutRow(db: Queryable, keys: string[]): Promise<string[]> {
  const { rows } = await db.query<{ key: string }>(
    'select storage_key as key from uploads where storage_key = any ($1)',
    [keys],
  );
  const named = new Set(rows.map(({ key }) => key));
  return keys.filter((key) => !named.has(key));
}
