import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { LocalError } from '../machine/local-error.ts';

const run = promisify(execFile);
const USER = 'postgres';

/** The user to start PostgreSQL's programs as: they refuse to run as root. */
export interface RunAs {
  uid?: number;
  gid?: number;
  /** A program and its arguments, to be put before the command. */
  prefix: string[];
  /** The required owner of the data folder; undefined for the user who runs Carillon. */
  owner?: { uid: number; gid: number };
}

async function idOf(flag: '-u' | '-g'): Promise<number | undefined> {
  try {
    const { stdout } = await run('id', [flag, USER]);
    return Number.parseInt(stdout, 10);
  } catch {
    return undefined;
  }
}

async function postgresIds(): Promise<{ uid: number; gid: number }> {
  if ((await idOf('-u')) === undefined) {
    try {
      await run('groupadd', ['--system', USER]).catch(() => undefined);
      await run('useradd', [
        '--system',
        '--gid',
        USER,
        '--no-create-home',
        '--home-dir',
        '/nonexistent',
        USER,
      ]);
    } catch (error) {
      throw new LocalError(
        'PostgreSQL does not run as root, and its user could not be created: start Carillon as another user, or set DATABASE_URL',
        { cause: error },
      );
    }
  }
  const [uid, gid] = await Promise.all([idOf('-u'), idOf('-g')]);
  if (uid === undefined || gid === undefined)
    throw new LocalError('the user "postgres" has no id: set DATABASE_URL');
  return { uid, gid };
}

/** Whether the user can run the program and enter the folder. Other users cannot enter a folder such as /root. */
function canReach(ids: { uid: number; gid: number }, program: string, folder: string): boolean {
  const options = { ...ids, cwd: '/' };
  const entered = spawnSync('test', ['-x', folder], options);
  return entered.status === 0 && spawnSync(program, ['--version'], options).status === 0;
}

/**
 * Returns how to start PostgreSQL's programs. For root this is the user `postgres`, who is created if missing. If that
 * user cannot enter the folder, `setpriv` leaves it the one capability that lets it pass (CAP_DAC_OVERRIDE).
 * @param program path of one of PostgreSQL's programs
 * @param folder parent of the data folder
 * @throws LocalError if there is no user that can run PostgreSQL
 */
export async function runAs(program: string, folder: string): Promise<RunAs> {
  if (process.getuid?.() !== 0) return { prefix: [] };
  const ids = await postgresIds();
  if (canReach(ids, program, folder)) return { ...ids, prefix: [], owner: ids };
  const prefix = ['setpriv', `--reuid=${ids.uid}`, `--regid=${ids.gid}`, '--clear-groups'];
  prefix.push('--inh-caps=+dac_override', '--ambient-caps=+dac_override');
  if (spawnSync('setpriv', [...prefix.slice(1), program, '--version'], { cwd: '/' }).status === 0) {
    return { prefix, owner: ids };
  }
  throw new LocalError(
    `PostgreSQL does not run as root, and its user cannot enter ${folder}: start Carillon as another user, or move Carillon and CARILLON_HOME to a folder that other users may enter`,
  );
}
