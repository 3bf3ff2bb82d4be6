import { mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { endLeftoverEngine } from '../engine/server.ts';
import { cannotWrite, LocalError, systemCode } from '../machine/local-error.ts';
import { isAlive, startMark } from '../machine/os-process.ts';
import { readIfThere } from '../machine/secret-file.ts';
import { removeLinkedData } from '../postgres/place.ts';
import { endLeftoverPostgres } from '../postgres/server.ts';

/** The folder of one installation's data. Only one running Carillon may use it. */
export interface Home {
  readonly folder: string;
  path(name: string): string;
  release(): Promise<void>;
}

const LOCK = 'lock';
/** A file in each folder that Carillon created, which `--reset` may therefore empty. */
const MARKER = '.carillon-home';
const holder = z.object({ pid: z.number().int(), mark: z.string() });

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o755 });
    if ((await readdir(folder)).length === 0) await writeFile(join(folder, MARKER), 'Created by Carillon.\n');
  } catch (error) {
    throw cannotWrite(folder, error);
  }
}

/** Returns the id of the running process that has the lock, or null if there is none. */
async function lockHolder(path: string): Promise<number | null> {
  try {
    const { pid, mark } = holder.parse(JSON.parse((await readIfThere(path)) ?? ''));
    return mark !== '' && isAlive(pid) && (await startMark(pid)) === mark ? pid : null;
  } catch {
    return null;
  }
}

async function takeLock(folder: string): Promise<string> {
  const path = join(folder, LOCK);
  const content = JSON.stringify({ pid: process.pid, mark: await startMark(process.pid) });
  for (let tries = 0; tries < 3; tries += 1) {
    try {
      const file = await open(path, 'wx');
      await file.writeFile(content);
      await file.close();
      return path;
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') {
        throw cannotWrite(folder, error);
      }
    }
    const pid = await lockHolder(path);
    if (pid !== null) throw alreadyRuns(folder, pid);
    // Move the stale lock aside first: of two processes that find it, only one may remove it.
    await rename(path, `${path}.${process.pid}`).catch(() => undefined);
    await rm(`${path}.${process.pid}`, { force: true });
  }
  throw new LocalError(`another Carillon is starting in ${folder}: wait for it`);
}

function alreadyRuns(folder: string, pid: number): LocalError {
  return new LocalError(
    `Carillon already runs in ${folder} (process ${pid}): stop it, or set CARILLON_HOME and other ports for a second one`,
  );
}

/**
 * Locks the folder for this process, and creates it if it is missing.
 * @throws LocalError if another Carillon runs in it, or it cannot be written
 */
export async function openHome(given: string): Promise<Home> {
  const folder = resolve(given);
  await makeFolder(folder);
  const lock = await takeLock(folder);
  return { folder, path: (name) => join(folder, name), release: () => rm(lock, { force: true }) };
}

/**
 * Removes all data from the folder, and the database that it links to.
 * @throws LocalError if Carillon did not create the folder
 */
export async function emptyHome(home: Home): Promise<void> {
  const entries = await readdir(home.folder);
  if (!entries.includes(MARKER)) {
    throw new LocalError(
      `${home.folder} was not created by Carillon, so --reset does not touch it: empty it yourself`,
    );
  }
  const postgres = home.path('postgres');
  await Promise.all([
    removeLinkedData(postgres, () => endLeftoverPostgres(postgres)),
    endLeftoverEngine(home.path('temporal')),
  ]);
  const doomed = entries.filter((entry) => entry !== MARKER && entry !== LOCK);
  await Promise.all(doomed.map((entry) => rm(home.path(entry), { recursive: true, force: true })));
}
