import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, copyFile, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { withFileLock, type Progress } from '../../../src/local/machine/cache.ts';
import { copyFromMaven, hasJava } from '../maven.ts';
import { findPythonProgram } from '../python.ts';

const run = promisify(execFile);

const folder = fileURLToPath(new URL('.', import.meta.url));
const JAR = 'openapi-generator-cli-7.14.0.jar';
const INSTALL_TIMEOUT_MS = 600_000;

/** Where the client generators are. */
export interface Generators {
  /** `node_modules` with the generators of npm. */
  nodeModules: string;
  /** `bin` of a virtual environment with the generator from PyPI, and the packages that both Python clients import. */
  python: string;
  /** OpenAPI Generator. */
  jar: string;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Runs `install` unless a process on this machine has already done so. */
async function onceInCache(path: string, progress: Progress, install: () => Promise<void>): Promise<string> {
  if (await exists(path)) return path;
  const onWait = () => progress('waiting for another process to finish installing the client generators');
  return withFileLock(`${path}.lock`, onWait, async () => {
    if (!(await exists(path))) await install();
    return path;
  });
}

/** Installs the versions that `package-lock.json` pins. */
async function findNodeModules(cache: string, progress: Progress): Promise<string> {
  const manifests = ['package.json', 'package-lock.json'];
  const lock = await readFile(join(folder, 'package-lock.json'));
  const home = join(
    cache,
    `client-generators-${createHash('sha256').update(lock).digest('hex').slice(0, 12)}`,
  );
  await onceInCache(home, progress, async () => {
    progress('installing the generators of TypeScript clients from npm; needed only once');
    const draft = await mkdtemp(join(cache, 'npm-'));
    try {
      for (const name of manifests) await copyFile(join(folder, name), join(draft, name));
      await run(
        'npm',
        ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--no-progress', '--fetch-retries=1'],
        {
          cwd: draft,
          timeout: INSTALL_TIMEOUT_MS,
        },
      );
      await rename(draft, home);
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
  });
  return join(home, 'node_modules');
}

async function findJar(cache: string, progress: Progress): Promise<string> {
  if (!(await hasJava())) throw new Error('java was not found');
  const name = JAR.replace(/[.]jar$/, '');
  const home = await onceInCache(join(cache, name), progress, async () => {
    progress('downloading OpenAPI Generator from Maven; needed only once');
    await copyFromMaven(join(folder, 'pom.xml'), cache, name);
  });
  return join(home, JAR);
}

/**
 * Returns where the client generators are: those of npm, PyPI and Maven, in the versions that the files of this folder
 * pin. Puts them into the cache if they are missing.
 * @throws Error that says what to install
 */
export async function findGenerators(cache: string, progress: Progress): Promise<Generators> {
  const requirements = join(folder, 'requirements.txt');
  const client = { name: 'Client-generator', requirements, program: 'openapi-python-client' };
  try {
    const [nodeModules, python, jar] = await Promise.all([
      findNodeModules(cache, progress),
      findPythonProgram(client, cache, progress),
      findJar(cache, progress),
    ]);
    return { nodeModules, python, jar };
  } catch (error) {
    const reason = (error as Error).message.split('\n')[0];
    throw new Error(
      `no client generators: install npm, Python 3.10 with venv, Java 17 and Maven, and allow their registries (${reason})`,
      { cause: error },
    );
  }
}
