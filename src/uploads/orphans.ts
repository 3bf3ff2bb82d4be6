import type { Queryable } from '../db/queryable.ts';
import type { BlobStore } from '../storage/blob-store.ts';
import { findNamedKeys, findNewestKeys, UPLOAD_BLOBS } from './model.ts';

const BATCH_FILES = 1_000;
const SAMPLE_ROWS = 100;

export interface OrphanSearch {
  db: Queryable;
  store: BlobStore;
  /** What was written since stays: its row may be on its way. */
  before: Date;
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

/**
 * Remove files that no row names: those of an upload whose process died between file and row, of an account that is
 * gone, and drafts. Rows are asked for after a file was found, so that one of an upload under way is either young or
 * named. While none of the newest 100 rows has its file in the folder, only drafts are removed.
 * @returns files removed
 */
export async function removeOrphanedFiles(search: OrphanSearch): Promise<number> {
  const { db, store, before, progress } = search;
  const ours = await belongTogether(search);
  let removed = 0;
  for await (const { keys, drafts } of store.list(UPLOAD_BLOBS, BATCH_FILES)) {
    const named = ours ? await findNamedKeys(db, keys) : new Set(keys);
    const orphans = keys.filter((key) => !named.has(key));
    removed += await store.removeOlder([...drafts, ...orphans], before);
    progress();
  }
  return removed;
}
