import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { withFileLock, type Progress } from '../../src/local/machine/cache.ts';

const run = promisify(execFile);

const INSTALL_TIMEOUT_MS = 600_000;

export interface PythonProgram {
  /** The usual spelling of its name. The environment in the cache is named after it. */
  name: string;
  /** The file that pins the versions. */
  requirements: string;
  /** The name of the program in `bin`. It must accept `--version`. */
  program: string;
}

function runs(program: string): Promise<boolean> {
  return run(program, ['--version']).then(
    () => true,
    () => false,
  );
}

async function install(environment: string, { name, requirements }: PythonProgram): Promise<void> {
  await rm(environment, { recursive: true, force: true });
  try {
    await run('python3', ['-m', 'venv', environment], { timeout: INSTALL_TIMEOUT_MS });
    const pip = ['-m', 'pip', 'install', '--quiet', '--no-input', '--only-binary', ':all:'];
    await run(join(environment, 'bin', 'python'), [...pip, '-r', requirements], {
      timeout: INSTALL_TIMEOUT_MS,
    });
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    const reason = stderr?.trim().split('\n').at(-1) ?? message;
    throw new Error(`no ${name}: install Python 3.10 with venv, and allow PyPI (${reason})`, {
      cause: error,
    });
  }
}

/**
 * Returns the `bin` folder of a virtual environment in the cache that has a program of PyPI. Installs it if it is missing.
 * @throws Error that says what to install
 */
export async function findPythonProgram(
  wanted: PythonProgram,
  cache: string,
  progress: Progress,
): Promise<string> {
  const version = createHash('sha256')
    .update(await readFile(wanted.requirements))
    .digest('hex')
    .slice(0, 12);
  const environment = join(cache, `${wanted.name.toLowerCase()}-${version}`);
  const bin = join(environment, 'bin');
  if (await runs(join(bin, wanted.program))) return bin;
  const onWait = () => progress(`waiting for another process to finish installing ${wanted.name}`);
  return withFileLock(`${environment}.lock`, onWait, async () => {
    if (await runs(join(bin, wanted.program))) return bin;
    progress(`installing ${wanted.name} from PyPI; needed only once`);
    await install(environment, wanted);
    return bin;
  });
}
