import { execFile } from 'node:child_process';
import { access, chmod, mkdir, mkdtemp, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { cannotWrite, LocalError } from '../machine/local-error.ts';
import { canEnter, canRun, databaseUser, type OsUser } from './account.ts';
import { copyPrograms, findPrograms, type Programs } from './programs.ts';

/**
 * The folder for programs and data that PostgreSQL's user cannot reach in the checkout. The data then has a folder of
 * its own there, and `data` in Carillon's folder is a symbolic link to it.
 */
export const OPEN_FOLDER = '/var/lib/carillon';

const run = promisify(execFile);
const DATA = 'data';
/** A file beside data in the open folder: the path of the folder that links to it. */
const OWNER = 'linked-from';

/** Where a server runs. */
export interface ServerLocation {
  programs: Programs;
  /** Null: the user who runs Carillon. */
  user: OsUser | null;
  /** The folder of the data folder and of its draft. The user can enter it. */
  folder: string;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Returns the path that a symbolic link contains, or null if there is no link. */
function linkTarget(path: string): Promise<string | null> {
  return readlink(path).catch(() => null);
}

/** Returns the folder that owns the data if `folder` is a copy of it, else null. */
async function otherOwner(folder: string, target: string): Promise<string | null> {
  const owner = await readFile(join(dirname(target), OWNER), 'utf8').catch(() => folder);
  if (owner === folder || (await linkTarget(join(owner, DATA))) !== target) return null;
  return owner;
}

/**
 * Returns the path of the data folder, which may be missing.
 * @param folder Carillon's folder for the database
 * @throws LocalError if the folder is a copy of another one, which has the same data
 */
export async function dataFolderOf(folder: string): Promise<string> {
  const target = await linkTarget(join(folder, DATA));
  if (target === null) return join(folder, DATA);
  const owner = await otherOwner(folder, target);
  if (owner === null) return target;
  throw new LocalError(
    `${join(folder, DATA)} links to the database of ${owner}: start over with npm start -- --reset, which leaves that database alone`,
  );
}

/**
 * Removes the data if it is outside of `folder`. What is in the folder stays. If the folder is a copy of another one,
 * the data belongs to that one and stays, too.
 * @param end called before the data is removed; ends a server that uses it
 */
export async function removeLinkedData(folder: string, end: () => Promise<void>): Promise<void> {
  const target = await linkTarget(join(folder, DATA));
  if (target !== null && (await otherOwner(folder, target)) !== null) return;
  await end();
  if (target !== null) await rm(dirname(target), { recursive: true, force: true });
}

/** Makes a folder that PostgreSQL's user can enter, links to it, and moves data there that an earlier run left. */
async function moveData(folder: string, open: string): Promise<string> {
  try {
    await mkdir(open, { recursive: true, mode: 0o755 });
    const outside = await mkdtemp(join(open, 'postgres-'));
    await chmod(outside, 0o755);
    await writeFile(join(outside, OWNER), folder);
    // The program `mv` keeps the owner of the files on another file system, too.
    if (await exists(join(folder, DATA))) await run('mv', [join(folder, DATA), join(outside, DATA)]);
    await symlink(join(outside, DATA), join(folder, DATA));
    return outside;
  } catch (error) {
    throw cannotWrite(open, error);
  }
}

/**
 * Decides where the server runs. Started by root, it runs as the user `postgres`. If that user cannot reach the
 * programs or the folder, they are in the open folder.
 * @param folder Carillon's folder for the database, which must exist
 * @param open the open folder; {@link OPEN_FOLDER}, except in tests
 * @throws LocalError with what to do
 */
export async function chooseLocation(folder: string, open: string): Promise<ServerLocation> {
  const installed = findPrograms();
  const user = await databaseUser();
  const linked = await linkTarget(join(folder, DATA));
  if (linked !== null) await writeFile(join(dirname(linked), OWNER), resolve(folder)).catch(() => undefined);
  if (user === null) return { programs: installed, user, folder: linked ? dirname(linked) : folder };
  const programs = canRun(user, installed.postgres) ? installed : await copyPrograms(installed, open);
  if (linked !== null) return { programs, user, folder: dirname(linked) };
  return { programs, user, folder: canEnter(user, folder) ? folder : await moveData(folder, open) };
}
