import { mkdir, open, rename, rm, stat, utimes } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { cannotWrite, systemCode } from './local-error.ts';

/** Prints one line that says what the user is waiting for. */
export type Progress = (line: string) => void;

const TOUCH_MS = 5_000;
const STALE_MS = 30_000;

/**
 * Creates the folder of downloaded and built tools if it is missing, and returns its path. All of this user's runs share
 * the folder.
 * @param given the setting CARILLON_CACHE
 * @param xdgCacheHome the setting XDG_CACHE_HOME
 * @throws LocalError if the folder cannot be created
 */
export async function cacheFolder(given?: string, xdgCacheHome?: string): Promise<string> {
  const folder = given ? resolve(given) : join(xdgCacheHome ?? join(homedir(), '.cache'), 'carillon');
  try {
    await mkdir(folder, { recursive: true });
    return folder;
  } catch (error) {
    throw cannotWrite(folder, error, 'CARILLON_CACHE');
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

/** Removes the lock file of a process that died: a living holder touches the file while it works. */
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
 * Runs `work` under a lock file: one process of this machine at a time.
 * @param path the lock file
 * @param onWait called once if another process has the lock
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
