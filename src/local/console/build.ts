import { spawn } from 'node:child_process';
import { access, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { childEnvironment } from '../../config.ts';
import { withFileLock, type Progress } from '../machine/cache.ts';
import { compressFiles } from './compress.ts';
import { bundleFolder, PROJECT } from './bundle-files.ts';
import { bundleStamp, hasBundle, hasSources, STAMP_FILE, stampOf } from './stamp.ts';

interface ConsoleOptions {
  progress: Progress;
  /** The folder of the project; another one in tests. */
  project?: string;
  /** Build also if the bundle is as new as its sources. */
  always?: boolean;
}

/**
 * What there is afterwards. `current`: a bundle of these sources, or of an image, which has no sources. `old`: a bundle
 * of earlier sources. `none`: no bundle.
 */
export type ConsoleState = 'current' | 'old' | 'none';

const MAX_OUTPUT = 4_000;

/** Vite's program. It is run and not imported: a build takes much memory, and Vite is a development dependency. */
const viteOf = (project: string) => join(project, 'node_modules', 'vite', 'bin', 'vite.js');

/** Runs Vite in a process of its own. Resolves to what it wrote, or to null if the build succeeded. */
function runVite(project: string, folder: string): Promise<string | null> {
  return new Promise((resolve) => {
    const args = [viteOf(project), 'build', 'console', '--outDir', folder, '--emptyOutDir'];
    const child = spawn(process.execPath, ['--no-warnings', ...args, '--logLevel', 'warn'], {
      cwd: project,
      env: childEnvironment({ NODE_ENV: 'production' }),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const abandon = () => child.kill();
    process.once('exit', abandon);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-MAX_OUTPUT)));
    }
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code) => {
      process.off('exit', abandon);
      resolve(code === 0 ? null : output.trim() || `Vite ended with ${code}`);
    });
  });
}

/**
 * Builds into another folder and then exchanges the folders, so that a failed build keeps the earlier bundle.
 * @throws Error that says why the build failed
 */
async function build(project: string): Promise<void> {
  const finished = bundleFolder(project);
  const [draft, former] = [`${finished}.new`, `${finished}.old`];
  // A file that changes during the build makes the bundle stale.
  const stamp = await stampOf(project);
  try {
    const failure = await runVite(project, draft);
    if (failure !== null) throw new Error(failure);
    await compressFiles(join(draft, 'assets'));
    await writeFile(join(draft, STAMP_FILE), stamp);
    await rm(former, { recursive: true, force: true });
    if (await hasBundle(project)) await rename(finished, former);
    else await rm(finished, { recursive: true, force: true });
    await rename(draft, finished);
  } finally {
    await rm(draft, { recursive: true, force: true });
    await rm(former, { recursive: true, force: true });
  }
}

async function buildUnderLock({ progress, project = PROJECT, always = false }: ConsoleOptions) {
  const onWait = () => progress('waiting for another process that builds the console');
  return withFileLock(`${bundleFolder(project)}.lock`, onWait, async () => {
    if (!always && (await isCurrent(project))) return;
    const began = performance.now();
    progress('building the console');
    await build(project);
    progress(`built the console in ${((performance.now() - began) / 1_000).toFixed(1)} s`);
  });
}

async function isCurrent(project: string): Promise<boolean> {
  const [built, sources] = await Promise.all([bundleStamp(project), stampOf(project)]);
  return built === sources;
}

const isInstalled = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

/**
 * Builds the pages of the console if they are older than their sources. Of several processes that ask at the same time,
 * one builds and the others wait. A build that fails, or that is not possible here, is reported and leaves the earlier
 * bundle in place: the service works without its pages.
 */
export async function provideConsole(options: ConsoleOptions): Promise<ConsoleState> {
  const { progress, project = PROJECT, always = false } = options;
  const withoutBuild = async () => ((await hasBundle(project)) ? 'old' : 'none');
  try {
    if (!(await hasSources(project))) return (await hasBundle(project)) ? 'current' : 'none';
    if (!always && (await isCurrent(project))) return 'current';
    if (!(await isInstalled(viteOf(project)))) {
      const state = await withoutBuild();
      const what = state === 'old' ? 'the console is older than its sources' : 'there is no console';
      progress(
        `${what}: to build it, run npm ci, which installs the development dependencies, and start again`,
      );
      return state;
    }
    await buildUnderLock(options);
    return 'current';
  } catch (error) {
    progress(`the console could not be built: ${(error as Error).message}`);
    return withoutBuild();
  }
}
