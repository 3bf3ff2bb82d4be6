import type { Queryable } from '../../platform/db/queryable.ts';
import { daysBefore, type HousekeepingTask } from '../../platform/housekeeping/task.ts';
import type { BlobStore } from '../../platform/storage/blob-store.ts';
import { createHomeStore } from '../../platform/storage/local-disk.ts';
import { findNamedKeys, findNewestKeys, UPLOAD_BLOBS } from './model.ts';

const BATCH_FILES = 1_000;
const SAMPLE_ROWS = 100;

export interface OrphanSearch {
  db: Queryable;
  store: BlobStore;
  /** What was written since stays: its row may be on its way. */
  before: Date;
  /** What was set aside before is removed. */
  asideBefore: Date;
  /** Called after each batch. */
  progress: () => void;
}

/** Whether the folder is this database's: another's files have no rows here, and are nobody's to remove. */
async function belongTogether({ db, store }: OrphanSearch): Promise<boolean> {
  for (const key of await findNewestKeys(db, SAMPLE_ROWS)) {
    const blob = await store.open(key);
    blob?.stream.destroy();
    if (blob) return true;
  }
  return false;
}

async function orphansAmong(db: Queryable, keys: string[]): Promise<string[]> {
  const named = await findNamedKeys(db, keys);
  return keys.filter((key) => !named.has(key));
}

/**
 * Set aside files that no row names: those of an upload whose process died between file and row, and of an account that
 * is gone. Rows are asked for after a file was found, so that one of an upload under way is either young or named. What
 * was set aside long ago is removed where still no row names it, and so are drafts, at once. While none of the newest
 * 100 rows has its file in the folder, only drafts are removed.
 *
 * Files go by way of `aside` because rows may be missing here alone: in a clone of the database that has the folder of
 * the original, or in a backup that is older than the files.
 * @returns files set aside or removed
 */
export async function clearOrphanedFiles(search: OrphanSearch): Promise<number> {
  const { db, store, before, asideBefore, progress } = search;
  const ours = await belongTogether(search);
  let cleared = 0;
  for await (const { keys, drafts } of store.list(UPLOAD_BLOBS, BATCH_FILES)) {
    cleared += await store.removeOlder(drafts, before);
    if (ours) cleared += await store.setAside(await orphansAmong(db, keys), before);
    progress();
  }
  if (!ours) return cleared;
  for await (const { keys } of store.aside.list(UPLOAD_BLOBS, BATCH_FILES)) {
    cleared += await store.aside.removeOlder(await orphansAmong(db, keys), asideBefore);
    progress();
  }
  return cleared;
}

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
