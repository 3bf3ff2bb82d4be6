import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, copyFile, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { withFileLock, type Progress } from '../../src/local/machine/cache.ts';

const run = promisify(execFile);

const INSTALL_TIMEOUT_MS = 600_000;
const CI = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--no-progress', '--fetch-retries=1'];

export interface NpmPackages {
  /** What they are, for people. The folder in the cache is named after it. */
  name: string;
  /** The folder with `package.json` and `package-lock.json`, which pins the versions. */
  folder: string;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Runs `install` unless a process on this machine has already done so. */
export async function onceInCache(
  name: string,
  path: string,
  progress: Progress,
  install: () => Promise<void>,
): Promise<string> {
  if (await exists(path)) return path;
  const onWait = () => progress(`waiting for another process to finish installing the ${name}`);
  return withFileLock(`${path}.lock`, onWait, async () => {
    if (!(await exists(path))) await install();
    return path;
  });
}

/** Returns `node_modules` with packages of npm, from the cache. Installs them if they are missing. */
export async function findNodeModules(
  { name, folder }: NpmPackages,
  cache: string,
  progress: Progress,
): Promise<string> {
  const lock = await readFile(join(folder, 'package-lock.json'));
  const version = createHash('sha256').update(lock).digest('hex').slice(0, 12);
  const home = join(cache, `${name.toLowerCase().replaceAll(' ', '-')}-${version}`);
  await onceInCache(name, home, progress, async () => {
    progress(`installing the ${name} from npm; needed only once`);
    const draft = await mkdtemp(join(cache, 'npm-'));
    try {
      for (const file of ['package.json', 'package-lock.json'])
        await copyFile(join(folder, file), join(draft, file));
      await run('npm', CI, { cwd: draft, timeout: INSTALL_TIMEOUT_MS });
      await rename(draft, home);
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
  });
  return join(home, 'node_modules');
}
