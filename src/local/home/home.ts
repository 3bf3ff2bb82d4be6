import { mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { endLeftoverEngine } from '../engine/server.ts';
import type { Progress } from '../machine/cache.ts';
import { cannotWrite, LocalError, systemCode } from '../machine/local-error.ts';
import { isAlive, startMark } from '../machine/os-process.ts';
import { readIfThere, writePrivateFile } from '../machine/secret-file.ts';
import { removeLinkedData } from '../postgres/location.ts';
import { endLeftoverPostgres } from '../postgres/server.ts';
import { recordedRunning } from './process-record.ts';

/** The folder of one installation's data. Only one running Carillon may use it. */
export interface Home {
  readonly folder: string;
  path(name: string): string;
  /** Where the processes of this start are recorded. */
  readonly processRecord: string;
  /** Records that this process is stopping, so that the next start waits for it. */
  markStopping(): Promise<void>;
  release(): Promise<void>;
}

const LOCK = 'lock';
/** A file in each folder that Carillon created, which `--reset` may therefore empty. */
const MARKER = '.carillon-home';
const PROCESS_RECORD = 'processes.json';
const holder = z.object({ pid: z.number().int(), mark: z.string(), stopping: z.boolean().default(false) });
type Holder = z.infer<typeof holder>;

/** How long a start waits for an earlier one that is still stopping, in ms. */
const FORMER_MS = 15_000;
const LOOK_MS = 100;

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o755 });
    if ((await readdir(folder)).length === 0) await writeFile(join(folder, MARKER), 'Created by Carillon.\n');
  } catch (error) {
    throw cannotWrite(folder, error);
  }
}

/** Returns the running process that has the lock, or null if there is none. */
async function lockHolder(path: string): Promise<Holder | null> {
  try {
    const found = holder.parse(JSON.parse((await readIfThere(path)) ?? ''));
    const { pid, mark } = found;
    return mark !== '' && isAlive(pid) && (await startMark(pid)) === mark ? found : null;
  } catch {
    return null;
  }
}

/** Waits for an earlier Carillon; the lock and the processes of a start share one time limit. */
interface Patience {
  /**
   * Waits until `look` returns no process ids.
   * @returns false if the time limit passed first
   */
  until(look: () => Promise<number[]>): Promise<boolean>;
}

function createPatience({ progress, limitMs = FORMER_MS }: OpenOptions): Patience {
  let end: number | null = null;
  return {
    async until(look) {
      for (;;) {
        const pids = await look();
        if (pids.length === 0) return true;
        if (end === null) {
          end = performance.now() + limitMs;
          progress?.(`waiting for the former Carillon to stop (process ${pids.join(', ')})`);
        }
        if (performance.now() >= end) return false;
        await delay(LOOK_MS);
      }
    },
  };
}

async function lockContent(stopping: boolean): Promise<string> {
  return JSON.stringify({ pid: process.pid, mark: await startMark(process.pid), stopping });
}

async function takeLock(folder: string, patience: Patience): Promise<string> {
  const path = join(folder, LOCK);
  const content = await lockContent(false);
  const stoppingHolder = async () => {
    const found = await lockHolder(path);
    return found?.stopping ? [found.pid] : [];
  };
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
    await patience.until(stoppingHolder);
    const found = await lockHolder(path);
    if (found !== null) throw alreadyRuns(folder, found);
    // Move the stale lock aside first: of two processes that find it, only one may remove it.
    await rename(path, `${path}.${process.pid}`).catch(() => undefined);
    await rm(`${path}.${process.pid}`, { force: true });
  }
  throw new LocalError(`another Carillon is starting in ${folder}: wait for it`);
}

function alreadyRuns(folder: string, { pid, stopping }: Holder): LocalError {
  if (stopping) {
    return new LocalError(`Carillon is still stopping in ${folder} (process ${pid}): wait for it, or end it`);
  }
  return new LocalError(
    `Carillon already runs in ${folder} (process ${pid}): stop it, or set CARILLON_HOME and other ports for a second one`,
  );
}

export interface OpenOptions {
  /** Called before a long wait. */
  progress?: Progress;
  /** How long to wait for an earlier Carillon that is still stopping. */
  limitMs?: number;
}

/**
 * Locks the folder for this process, and creates it if it is missing. Waits for an earlier Carillon that is still
 * stopping, and for processes that a killed one has left: they still have their ports.
 * @throws LocalError if another Carillon runs in it, or it cannot be written
 */
export async function openHome(given: string, options: OpenOptions = {}): Promise<Home> {
  const folder = resolve(given);
  await makeFolder(folder);
  const patience = createPatience(options);
  const lock = await takeLock(folder, patience);
  const processRecord = join(folder, PROCESS_RECORD);
  // Go on even if some remain: the check of the ports fails if they are in the way.
  await patience.until(() => recordedRunning(processRecord));
  return {
    folder,
    path: (name) => join(folder, name),
    processRecord,
    markStopping: async () => writePrivateFile(lock, await lockContent(true)),
    release: () => rm(lock, { force: true }),
  };
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
