import { randomUUID } from 'node:crypto';
import {
  type FileHandle,
  link,
  mkdir,
  open,
  opendir,
  readFile,
  rename,
  rm,
  stat,
  unlink,
  utimes,
} from 'node:fs/promises';
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
import { measure } from './measure.ts';

/** Inside the folder of the blobs, so that a rename moves a blob there. */
const ASIDE_FOLDER = 'orphaned';
/** The file with the id of the installation that the folder belongs to. */
const OWNER_FILE = 'installation';
const PRIVATE_FILE = 0o600;
const PRIVATE_FOLDER = 0o700;

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Creates a file, and its folder if it is the first in it. */
async function createDraft(draft: string): Promise<FileHandle> {
  const create = () => open(draft, 'wx', PRIVATE_FILE);
  try {
    return await create();
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const made = await mkdir(dirname(draft), { recursive: true, mode: PRIVATE_FOLDER });
  if (made !== undefined) await syncFolder(dirname(made));
  return create();
}

/** Writes a file so that its bytes reach the disk before its name does, and its name before this resolves. */
async function writeWhole(
  draft: string,
  path: string,
  bytes: Uint8Array | AsyncIterable<Uint8Array>,
): Promise<void> {
  try {
    const handle = await createDraft(draft);
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

/** Creates a file with its whole content in one step, unless the file exists. */
async function createOnce(path: string, content: string): Promise<void> {
  const draft = `${path}.${randomUUID()}.part`;
  await writeWhole(draft, draft, Buffer.from(content));
  try {
    await link(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await unlink(draft);
  }
  await syncFolder(dirname(path));
}

/** Reads the names in a folder one by one; yields none if there is no such folder. */
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

/**
 * Removes or moves a file that was written before a time.
 * @returns false if the file is younger or gone; another process may have removed or moved it first
 */
async function takeIfOlder(path: string, before: Date, take: () => Promise<void>): Promise<boolean> {
  try {
    if ((await stat(path)).mtimeMs >= before.getTime()) return false;
    await take();
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
        if (await takeIfOlder(path, before, () => unlink(path))) removed += 1;
      }
      return removed;
    },
  };
}

/** Changes the file's time before it moves the file, so that a file set aside is never older than the move. */
async function moveAside(path: string, target: string): Promise<void> {
  const now = new Date();
  await mkdir(dirname(target), { recursive: true, mode: PRIVATE_FOLDER });
  await utimes(path, now, now);
  await rename(path, target);
}

/**
 * Stores blobs as files of one folder. All processes that read or write blobs must share the folder.
 * @param folder created if missing
 */
export function createLocalDiskStore(folder: string): BlobStore {
  const root = resolve(folder);
  const asideRoot = join(root, ASIDE_FOLDER);
  const pathOf = (key: string): string => {
    requireBlobKey(key);
    return join(root, key);
  };
  const write = async (key: string, bytes: Uint8Array | AsyncIterable<Uint8Array>): Promise<void> => {
    await writeWhole(join(root, newDraftName(key)), pathOf(key), bytes);
  };
  return {
    put: (key, bytes) => write(key, bytes),
    async putStream(key, stream, { maxBytes }) {
      const measured = { size: 0, sha256: '' };
      await write(key, measure(stream, maxBytes, measured));
      return measured;
    },
    async open(key, start = 0, end = Infinity) {
      try {
        const handle = await open(pathOf(key), 'r');
        const { size } = await handle.stat();
        return { size, stream: handle.createReadStream({ start, end }) };
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
        if (await takeIfOlder(path, before, () => moveAside(path, join(asideRoot, key)))) moved += 1;
      }
      return moved;
    },
    aside: createShelf(asideRoot),
    async owner() {
      try {
        return (await readFile(join(root, OWNER_FILE), 'utf8')).trim();
      } catch (error) {
        if (isMissing(error)) return null;
        throw error;
      }
    },
    async claim(installationId) {
      await mkdir(root, { recursive: true, mode: PRIVATE_FOLDER });
      await createOnce(join(root, OWNER_FILE), `${installationId}\n`);
    },
    ...createShelf(root),
  };
}

/**
 * Opens the blob store of an installation.
 * @param home CARILLON_HOME
 */
export function createHomeStore(home: string): BlobStore {
  return createLocalDiskStore(join(home, 'blobs'));
}
