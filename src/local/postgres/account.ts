import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { LocalError } from '../machine/local-error.ts';

const run = promisify(execFile);
const USER = 'postgres';

/** Ids of an operating-system user. */
export interface OsUser {
  uid: number;
  gid: number;
}

async function idOf(flag: '-u' | '-g'): Promise<number | undefined> {
  try {
    const { stdout } = await run('id', [flag, USER]);
    return Number.parseInt(stdout, 10);
  } catch {
    return undefined;
  }
}

async function createUser(): Promise<void> {
  try {
    await run('groupadd', ['--system', USER]).catch(() => undefined);
    const home = ['--no-create-home', '--home-dir', '/nonexistent'];
    await run('useradd', ['--system', '--gid', USER, ...home, USER]);
  } catch (error) {
    throw new LocalError(
      'PostgreSQL does not run as root, and its user could not be created: start Carillon as another user, or set DATABASE_URL',
      { cause: error },
    );
  }
}

/**
 * Returns the user to start PostgreSQL's programs as, because they refuse to run as root: the user `postgres`, who is
 * created if missing.
 * @returns null if Carillon does not run as root: PostgreSQL then runs as the same user
 * @throws LocalError if the user cannot be created
 */
export async function databaseUser(): Promise<OsUser | null> {
  if (process.getuid?.() !== 0) return null;
  if ((await idOf('-u')) === undefined) await createUser();
  const [uid, gid] = await Promise.all([idOf('-u'), idOf('-g')]);
  if (uid === undefined || gid === undefined)
    throw new LocalError('the user "postgres" has no id: set DATABASE_URL');
  return { uid, gid };
}

/** Whether the user can enter the folder. Only root can enter a folder below `/root`, for example. */
export function canEnter(user: OsUser, folder: string): boolean {
  return spawnSync('test', ['-x', folder], { ...user, cwd: '/' }).status === 0;
}

/** Whether the user can run one of PostgreSQL's programs. */
export function canRun(user: OsUser, program: string): boolean {
  return spawnSync(program, ['--version'], { ...user, cwd: '/' }).status === 0;
}
