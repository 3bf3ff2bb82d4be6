import type { Queryable } from '../db/queryable.ts';
import { type BlobKind, blobKinds, type BlobStore } from '../storage/blob-store.ts';
import { createHomeStore } from '../storage/local-disk.ts';
import { daysBefore, type HousekeepingTask } from './task.ts';

/** Far longer than any upload takes, and than the clocks of hosts that share the folder can differ. */
const ORPHAN_DAYS = 1;
/** Leaves operators time to notice that files are missing, and to move them back. */
const ASIDE_DAYS = 30;
const BATCH_FILES = 1_000;
const SAMPLE_ROWS = 100;

/** The rows that refer to the files of a kind. */
export interface FileRows {
  kind: BlobKind;
  /** SQL: a select of the columns `id` and `key`, one row for each file. Newer rows have higher ids. */
  keysSql: string;
}

/** A task that clears half-written files, and files whose row was never committed or has been deleted. */
export function orphanedFilesTask(name: string, files: FileRows): HousekeepingTask {
  return {
    name,
    run({ config, database }, asOf, progress) {
      const store = createHomeStore(config.CARILLON_HOME);
      const before = daysBefore(asOf, ORPHAN_DAYS);
      const asideBefore = daysBefore(asOf, ASIDE_DAYS);
      return clearOrphanedFiles({ ...files, db: database.pool, store, before, asideBefore, progress });
    },
  };
}

export interface OrphanSearch extends FileRows {
  db: Queryable;
  store: BlobStore;
  /** Files written after this time stay, because their row may not be committed yet. */
  before: Date;
  /** Files set aside before this time are removed. */
  asideBefore: Date;
  /** Called after each batch. */
  progress: () => void;
}

/**
 * Sets aside files that no row refers to: their process died between writing the file and inserting the row, or their
 * account was deleted. Removes files that were set aside long ago, if still no row refers to them, and removes
 * half-written files directly. If the folder belongs to another installation, removes only half-written files.
 *
 * Lists each batch of files before it looks up their rows. The file of a request in progress is then either young or
 * has a row.
 *
 * Files are set aside before they are removed because the rows may be missing only here: in a clone of the database
 * that shares the original's folder and its id, or in a backup that is older than the files.
 * @returns the number of files set aside or removed
 */
export async function clearOrphanedFiles(search: OrphanSearch): Promise<number> {
  const { kind, store, before, asideBefore, progress } = search;
  const isOurFolder = (await claimFolder(search.db, store, () => hasNewestFiles(search))) === 'ours';
  let cleared = 0;
  for await (const { keys, drafts } of store.list(kind, BATCH_FILES)) {
    cleared += await store.removeOlder(drafts, before);
    if (isOurFolder) cleared += await store.setAside(await withoutRow(search, keys), before);
    progress();
  }
  if (!isOurFolder) return cleared;
  for await (const { keys } of store.aside.list(kind, BATCH_FILES)) {
    cleared += await store.aside.removeOlder(await withoutRow(search, keys), asideBefore);
    progress();
  }
  return cleared;
}

/** Whether the store is empty: it has no stored, half-written or set-aside file. */
async function isEmpty(store: BlobStore): Promise<boolean> {
  for (const shelf of [store, store.aside]) {
    for (const kind of blobKinds) {
      for await (const { keys, drafts } of shelf.list(kind, 1)) {
        if (keys.length + drafts.length > 0) return false;
      }
    }
  }
  return true;
}

/** `unclaimed`: an installation has stored files there before any has claimed the folder, which housekeeping decides. */
export type FolderOwner = 'ours' | 'unclaimed' | 'foreign';

/**
 * Decides which installation the folder belongs to. This installation claims a folder that none has claimed if it is
 * empty or known. Files of another installation have no rows here, and must not be removed.
 * @param isKnown whether rows of this database refer to files of the folder
 */
export async function claimFolder(
  db: Queryable,
  store: BlobStore,
  isKnown: () => Promise<boolean> = async () => false,
): Promise<FolderOwner> {
  const id = await installationId(db);
  if ((await store.owner()) === null && ((await isEmpty(store)) || (await isKnown()))) await store.claim(id);
  const owner = await store.owner();
  if (owner === null) return 'unclaimed';
  return owner === id ? 'ours' : 'foreign';
}

async function installationId(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ id: string }>('select id from installation');
  const id = rows[0]?.id;
  if (id === undefined) throw new Error('the table installation is empty');
  return id;
}

/**
 * Whether this process has the folder in which the installation stores files: it is claimed for the installation, or not
 * claimed yet although it has files. An empty folder may be that of a machine that does not share it.
 */
export async function sharesFolder(db: Queryable, store: BlobStore): Promise<boolean> {
  const owner = await store.owner();
  return owner === null ? !(await isEmpty(store)) : owner === (await installationId(db));
}

/** Whether one of the 100 newest rows has its file in the folder. */
async function hasNewestFiles({ db, store, keysSql }: OrphanSearch): Promise<boolean> {
  const { rows } = await db.query<{ key: string }>(
    `select key from (${keysSql}) files order by id desc limit $1`,
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
async function withoutRow({ db, keysSql }: OrphanSearch, keys: string[]): Promise<string[]> {
  const { rows } = await db.query<{ key: string }>(
    `select key from (${keysSql}) files where key = any ($1)`,
    [keys],
  );
  const named = new Set(rows.map(({ key }) => key));
  return keys.filter((key) => !named.has(key));
}
