import { mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { endLeftoverEngine } from '../engine/server.ts';
import { LocalError, systemCode } from '../machine/local-error.ts';
import { isAlive, startMark } from '../machine/os-process.ts';
import { readIfThere } from '../machine/secret-file.ts';
import { endLeftoverPostgres } from '../postgres/server.ts';

/** The folder of one installation's data, held by one running Carillon. */
export interface Home {
  readonly folder: string;
  path(name: string): string;
  release(): Promise<void>;
}

const LOCK = 'lock';
/** Says that we made the folder, and so may empty it. */
const MARKER = '.carillon-home';
const holder = z.object({ pid: z.number().int(), mark: z.string() });

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o755 });
    if ((await readdir(folder)).length === 0) await writeFile(join(folder, MARKER), 'Made by Carillon.\n');
  } catch (error) {
    throw new LocalError(
      `cannot write to ${folder} (${systemCode(error)}): set CARILLON_HOME to a folder of yours`,
      {
        cause: error,
      },
    );
  }
}

/** @returns the process that holds the lock, or null: nobody, or one that is gone */
async function liveHolder(path: string): Promise<number | null> {
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
        throw new LocalError(
          `cannot write to ${folder} (${systemCode(error)}): set CARILLON_HOME to a folder of yours`,
        );
      }
    }
    const pid = await liveHolder(path);
    if (pid !== null) throw alreadyRuns(folder, pid);
    // Moved aside first, so that of two who find it stale only one removes it.
    await rename(path, `${path}.${process.pid}`).catch(() => undefined);
    await rm(`${path}.${process.pid}`, { force: true });
  }
  throw new LocalError(`another Carillon starts in ${folder} at this moment: wait for it`);
}

function alreadyRuns(folder: string, pid: number): LocalError {
  return new LocalError(
    `Carillon already runs in ${folder} (process ${pid}): stop it, or set CARILLON_HOME and the ports for a second one`,
  );
}

/**
 * Take the folder for this process.
 * @throws LocalError where another Carillon runs in it, or it cannot be written
 */
export async function openHome(given: string): Promise<Home> {
  const folder = resolve(given);
  await makeFolder(folder);
  const lock = await takeLock(folder);
  return { folder, path: (name) => join(folder, name), release: () => rm(lock, { force: true }) };
}

/**
 * Remove everything in the folder.
 * @throws LocalError where the folder was not made by us
 */
export async function emptyHome(home: Home): Promise<void> {
  const entries = await readdir(home.folder);
  if (!entries.includes(MARKER)) {
    throw new LocalError(
      `${home.folder} was not made by Carillon, so --reset leaves it alone: empty it yourself`,
    );
  }
  await Promise.all([endLeftoverPostgres(home.path('postgres')), endLeftoverEngine(home.path('temporal'))]);
  const doomed = entries.filter((entry) => entry !== MARKER && entry !== LOCK);
  await Promise.all(doomed.map((entry) => rm(home.path(entry), { recursive: true, force: true })));
}
