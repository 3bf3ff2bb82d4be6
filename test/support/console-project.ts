import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { provideConsole } from '../../src/local/console/build.ts';
import { bundleFolder, PROJECT } from '../../src/local/console/bundle-files.ts';

/** A small console in a folder of its own. */
export interface ConsoleProject {
  folder: string;
  path(...names: string[]): string;
  write(path: string, content: string): Promise<void>;
  remove(): Promise<void>;
}

const PAGE = `<!doctype html>
<html lang="en">
<head><title>A console</title><script type="module" src="/src/main.ts"></script></head>
<body></body>
</html>
`;
/** Those of our own console that matter to who builds and serves it. */
const SETTINGS = `export default {
  base: '/console/',
  html: { cspNonce: '__NONCE__' },
  build: { manifest: true, license: { fileName: 'licences.md' } },
};
`;
/** Longer than what is not worth compressing. */
const TEXT = 'It says the same many times. '.repeat(100);

/** Makes a console with a script, a style and a chunk, and the packages of this project. */
export async function makeConsoleProject(): Promise<ConsoleProject> {
  const folder = await mkdtemp(join(tmpdir(), 'carillon-console-'));
  const path = (...names: string[]) => join(folder, ...names);
  const write = async (name: string, content: string) => {
    await mkdir(dirname(path(name)), { recursive: true });
    await writeFile(path(name), content);
  };
  await write('package-lock.json', '{}');
  await write('package.json', '{"type": "module"}');
  await write('console/index.html', PAGE);
  await write(
    'console/src/main.ts',
    "import './main.css';\nvoid import('./later.ts').then(({ say }) => say());\n",
  );
  await write('console/src/main.css', 'body { margin: 0 }\n');
  await write('console/src/later.ts', `export const say = (): void => console.log('${TEXT}');\n`);
  await write('console/vite.config.ts', SETTINGS);
  await symlink(join(PROJECT, 'node_modules'), path('node_modules'));
  return { folder, path, write, remove: () => rm(folder, { recursive: true, force: true }) };
}

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
