import { execFile, spawn } from 'node:child_process';
import { access, constants, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { withFileLock, type Progress } from '../machine/cache.ts';
import { LocalError } from '../machine/local-error.ts';
import { downloadArtifact } from './download.ts';

const run = promisify(execFile);

/** The latest tag that `go install` can build. */
const VERSION = '1.5.1';
const MODULE = `github.com/temporalio/cli/cmd/temporal@v${VERSION}`;
const PROGRESS_MS = 10_000;

interface FindEngineOptions {
  /** The folder that `cacheFolder` returns. */
  cache: string;
  progress: Progress;
  /** Steps to skip, in tests. */
  without?: ('path' | 'download' | 'go')[];
}

async function works(command: string, ...args: string[]): Promise<boolean> {
  try {
    await run(command, args, { timeout: 20_000 });
    return true;
  } catch {
    return false;
  }
}

function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function download(destination: string, progress: Progress): Promise<boolean> {
  progress(`downloading the Temporal engine ${VERSION} from temporal.download`);
  try {
    await downloadArtifact({ name: 'cli', version: `v${VERSION}` }, destination);
    return true;
  } catch (error) {
    progress(`could not download the Temporal engine (${reasonOf(error)})`);
    return false;
  }
}

function reasonOf(error: unknown): string {
  const cause = (error as Error).cause;
  return cause instanceof Error ? cause.message : (error as Error).message;
}

function elapsed(since: number): string {
  const seconds = Math.round((Date.now() - since) / 1_000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Resolves to the last line that Go wrote, or to null if the build succeeded. */
function goInstall(folder: string): Promise<string | null> {
  return new Promise((resolve) => {
    const child = spawn('env', [`GOBIN=${folder}`, 'go', 'install', MODULE], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const abandon = () => child.kill();
    process.once('exit', abandon);
    child.once('close', () => process.off('exit', abandon));
    let output = '';
    child.stderr.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-2_000)));
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code) =>
      resolve(code === 0 ? null : (output.trim().split('\n').at(-1) ?? `exit ${code}`)),
    );
  });
}

async function build(destination: string, cache: string, progress: Progress): Promise<boolean> {
  const began = Date.now();
  progress(`building the Temporal engine ${VERSION} with Go: this takes 5 to 8 minutes, once`);
  const ticking = setInterval(() => progress(`building the Temporal engine: ${elapsed(began)}`), PROGRESS_MS);
  const draft = await mkdtemp(join(cache, 'build-'));
  try {
    const failure = await goInstall(draft);
    if (failure !== null) {
      progress(`the Temporal engine could not be built: ${failure}`);
      return false;
    }
    await rename(join(draft, 'temporal'), destination);
    progress(`built the Temporal engine in ${elapsed(began)}`);
    return true;
  } finally {
    clearInterval(ticking);
    await rm(draft, { recursive: true, force: true });
  }
}

async function obtain(cached: string, options: FindEngineOptions): Promise<string> {
  if (await isExecutable(cached)) return cached;
  const { cache, progress, without = [] } = options;
  if (!without.includes('download') && (await download(cached, progress))) return cached;
  if (!without.includes('go') && (await works('go', 'version')) && (await build(cached, cache, progress)))
    return cached;
  throw new LocalError(
    `no Temporal engine: set TEMPORAL_ADDRESS to a running one, install the temporal command (https://docs.temporal.io/cli) or Go, or allow access to temporal.download; then start again`,
  );
}

/**
 * Finds the `temporal` program, which contains the development server. Takes the one on PATH, else the cached one, else
 * downloads it as Temporal's SDKs do (it gives up after 10 s without data), else builds it with Go. If several
 * processes ask at the same time, one gets the program and the others wait.
 * @throws LocalError if there is no way to get the program
 */
export async function findEngineProgram(options: FindEngineOptions): Promise<string> {
  const { cache, progress, without = [] } = options;
  if (!without.includes('path') && (await works('temporal', '--version'))) return 'temporal';
  const cached = join(cache, `temporal-${VERSION}`);
  if (await isExecutable(cached)) return cached;
  const onWait = () => progress('waiting for another process to finish getting the Temporal engine');
  return withFileLock(`${cached}.lock`, onWait, () => obtain(cached, options));
}
