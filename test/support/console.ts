import { provideConsole } from '../../src/local/console/build.ts';
import { bundleFolder, PROJECT } from '../../src/local/console/place.ts';

/**
 * Builds our own console if its sources have changed, and returns the folder of its bundle, which the API serves. Of
 * several test files that run at the same time, one builds and the others wait.
 * @throws Error that says why it could not be built
 */
export async function builtConsole(): Promise<string> {
  const lines: string[] = [];
  const state = await provideConsole({ progress: (line) => lines.push(line) });
  if (state !== 'current') throw new Error(lines.join('\n'));
  return bundleFolder(PROJECT);
}
