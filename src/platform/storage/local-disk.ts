import { mkdir, open, opendir, rename, rm, stat, unlink, utimes } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import {
  kindOfName,
  newDraftName,
  requireBlobKey,
  type BlobKind,
  type BlobListing,
  type BlobShelf,
  type BlobStore,
} from './blob-store.ts';

/** In the folder of the blobs itself, so that moving there is a rename. */
const ASIDE = 'orphaned';

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The file's bytes reach the disk before its name does, and the name before this resolves. */
async function writeWhole(draft: string, path: string, bytes: Uint8Array): Promise<void> {
  try {
    const handle = await open(draft, 'wx', 0o600);
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
}

function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** Names in a folder, read as they are asked for; none where there is no such folder. */
async function* namesIn(folder: string): AsyncIterable<string> {
  try {
    for await (const entry of await opendir(folder)) yield entry.name;
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

async function* listKind(root: string, kind: BlobKind, maxNames: number): AsyncIterable<BlobListing> {
  let listing: BlobListing = { keys: [], drafts: [] };
  for await (const account of namesIn(join(root, kind))) {
    for await (const file of namesIn(join(root, kind, account))) {
      const name = `${kind}/${account}/${file}`;
      const is = kindOfName(name);
      if (is === null) continue;
      listing[is === 'key' ? 'keys' : 'drafts'].push(name);
      if (listing.keys.length + listing.drafts.length < maxNames) continue;
      yield listing;
      listing = { keys: [], drafts: [] };
    }
  }
  yield listing;
}

/** @returns whether it was there, old, and is gone by `leave`, which another process may be ahead of */
async function leaveWhereOlder(path: string, before: Date, leave: () => Promise<void>): Promise<boolean> {
  try {
    if ((await stat(path)).mtimeMs >= before.getTime()) return false;
    await leave();
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

function createShelf(root: string): BlobShelf {
  return {
    list: (kind, maxNames) => listKind(root, kind, maxNames),
    async removeOlder(names, before) {
      let removed = 0;
      for (const name of names) {
        if (kindOfName(name) === null) throw new Error(`not a name of a blob: ${JSON.stringify(name)}`);
        const path = join(root, name);
        if (await leaveWhereOlder(path, before, () => unlink(path))) removed += 1;
      }
      return removed;
    },
  };
}

/** The file's time changes before its place: set aside, it is never older than that. */
async function moveAside(path: string, target: string): Promise<void> {
  const now = new Date();
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  await utimes(path, now, now);
  await rename(path, target);
}

/**
 * Blobs as files of one folder, which every process that reads or writes them must share.
 * @param folder made where missing
 */
export function createLocalDiskStore(folder: string): BlobStore {
  const root = resolve(folder);
  const asideRoot = join(root, ASIDE);
  const pathOf = (key: string): string => {
    requireBlobKey(key);
    return join(root, key);
  };
  return {
    async put(key, bytes) {
      const path = pathOf(key);
      const made = await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await writeWhole(join(root, newDraftName(key)), path, bytes);
      if (made !== undefined) await syncFolder(dirname(made));
    },
    async open(key) {
      try {
        const handle = await open(pathOf(key), 'r');
        const { size } = await handle.stat();
        return { size, stream: handle.createReadStream() };
      } catch (error) {
        if (isMissing(error)) return null;
        throw error;
      }
    },
    async remove(key) {
      await rm(pathOf(key), { force: true });
    },
    async setAside(keys, before) {
      let moved = 0;
      for (const key of keys) {
        const path = pathOf(key);
        if (await leaveWhereOlder(path, before, () => moveAside(path, join(asideRoot, key)))) moved += 1;
      }
      return moved;
    },
    aside: createShelf(asideRoot),
    ...createShelf(root),
  };
}

/** The blobs of an installation. @param home CARILLON_HOME */
export function createHomeStore(home: string): BlobStore {
  return createLocalDiskStore(join(home, 'blobs'));
}
