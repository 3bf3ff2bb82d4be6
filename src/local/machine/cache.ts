import { mkdir, open, rename, rm, stat, utimes } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { LocalError, systemCode } from './local-error.ts';

/** Says on the terminal what is being waited for. */
export type Progress = (line: string) => void;

const TOUCH_MS = 5_000;
const STALE_MS = 30_000;

/**
 * Folder of tools that were downloaded or built, shared by every run of this user.
 * @param given the setting CARILLON_CACHE
 * @param xdgCacheHome the setting XDG_CACHE_HOME
 * @throws LocalError where it cannot be made
 */
export async function cacheFolder(given?: string, xdgCacheHome?: string): Promise<string> {
  const folder = given ? resolve(given) : join(xdgCacheHome ?? join(homedir(), '.cache'), 'carillon');
  try {
    await mkdir(folder, { recursive: true });
    return folder;
  } catch (error) {
    throw new LocalError(
      `cannot write to ${folder} (${systemCode(error)}): set CARILLON_CACHE to a folder of yours`,
      {
        cause: error,
      },
    );
  }
}

async function tryLock(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx');
    await file.close();
    return true;
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Its holder touches the file while it works; who stopped doing so has died. */
async function breakStale(path: string): Promise<void> {
  const touched = await stat(path).then(
    (found) => found.mtimeMs,
    () => Date.now(),
  );
  if (Date.now() - touched < STALE_MS) return;
  const aside = `${path}.${process.pid}.stale`;
  await rename(path, aside).catch(() => undefined);
  await rm(aside, { force: true });
}

/**
 * Work that only one process of this machine does at a time.
 * @param path of the lock file
 * @param onWait called once when another holds it
 */
export async function withFileLock<T>(path: string, onWait: () => void, work: () => Promise<T>): Promise<T> {
  for (let waited = false; !(await tryLock(path)); waited = true) {
    if (!waited) onWait();
    await breakStale(path);
    await delay(500);
  }
  const touching = setInterval(
    () => void utimes(path, new Date(), new Date()).catch(() => undefined),
    TOUCH_MS,
  );
  try {
    return await work();
  } finally {
    clearInterval(touching);
    await rm(path, { force: true });
  }
}
