// The console is built exactly if its sources have changed, and a build that fails leaves what was there.
import { existsSync } from 'node:fs';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { provideConsole } from '../../../src/local/console/build.ts';
import { type ConsoleProject, makeConsoleProject } from '../../support/console-project.ts';

let project: ConsoleProject;
let lines: string[];
beforeEach(async () => {
  project = await makeConsoleProject();
  lines = [];
});
afterEach(() => project.remove());

const provide = (always = false) =>
  provideConsole({ project: project.folder, progress: (line) => lines.push(line), always });
const page = () => readFile(project.path('console/dist/index.html'), 'utf8');
const assets = () => readdir(project.path('console/dist/assets'));

async function contentsOf(pattern: RegExp): Promise<string> {
  const names = (await assets()).filter((name) => pattern.test(name));
  const contents = await Promise.all(
    names.map((name) => readFile(project.path('console/dist/assets', name), 'utf8')),
  );
  return contents.join('\n');
}

describe('a bundle', () => {
  it('is built once, while nothing changes', async () => {
    expect(await provide()).toBe('current');
    expect(lines).toEqual([
      expect.stringMatching(/^building/),
      expect.stringMatching(/^built the console in \d/),
    ]);
    const { ino } = await stat(project.path('console/dist'));
    lines = [];
    expect(await provide()).toBe('current');
    expect(lines).toEqual([]);
    expect((await stat(project.path('console/dist'))).ino).toBe(ino);
  });

  it.each([
    [
      'a source changes',
      'console/src/later.ts',
      "export const say = (): void => console.log('another text');\n",
    ],
    ['a source is added', 'console/src/deep/er/new.ts', 'export const x = 1;\n'],
    ['a package changes', 'package-lock.json', '{"packages": {}}'],
  ])('is built again after %s', async (_case, file, content) => {
    await provide();
    await project.write(file, content);
    lines = [];
    expect(await provide()).toBe('current');
    expect(lines[0]).toBe('building the console');
    if (content.includes('another')) expect(await contentsOf(/^later-.*js$/)).toContain('another text');
  });

  it('is built again if it is asked for', async () => {
    await provide();
    lines = [];
    await provide(true);
    expect(lines[0]).toBe('building the console');
  });

  it('has a place for the nonce, and compressed copies of what is long', async () => {
    await provide();
    expect(await page()).toContain('nonce="__NONCE__"');
    const names = await assets();
    const chunk = names.find((name) => /^later-[\w-]{8}[.]js$/.test(name)) ?? '';
    const read = (ending: string) => readFile(project.path('console/dist/assets', chunk + ending));
    const plain = await read('');
    expect(brotliDecompressSync(await read('.br')).equals(plain)).toBe(true);
    expect(gunzipSync(await read('.gz')).equals(plain)).toBe(true);
    expect(names.filter((name) => /[.]css[.]/.test(name))).toEqual([]);
  });

  it('is built by one of several processes that start at the same time', async () => {
    expect(await Promise.all([provide(), provide(), provide()])).toEqual(['current', 'current', 'current']);
    expect(lines.filter((line) => line.startsWith('built '))).toHaveLength(1);
    expect(existsSync(project.path('console/dist.lock'))).toBe(false);
  });
});

describe('without a build', () => {
  it('a failure is reported, and the earlier bundle stays', async () => {
    await provide();
    const before = await page();
    await project.write('console/src/main.ts', "import { missing } from './later.ts';\nmissing(;\n");
    lines = [];
    expect(await provide()).toBe('old');
    expect(lines.at(-1)).toMatch(/^the console could not be built: [^]*main[.]ts/);
    expect(await page()).toBe(before);
    expect(await readdir(project.path('console'))).not.toContain('dist.new');
  });

  it('a first failure leaves no bundle', async () => {
    await project.write('console/src/main.ts', 'missing(;\n');
    expect(await provide()).toBe('none');
    expect(existsSync(project.path('console/dist'))).toBe(false);
  });

  it('of the development dependencies, the user learns what to install', async () => {
    await rm(project.path('node_modules'));
    expect(await provide()).toBe('none');
    expect(lines).toEqual([expect.stringMatching(/^there is no console: .*npm ci/)]);
  });

  it('of the sources, as in an image, the bundle is what is served', async () => {
    await provide();
    await rm(project.path('console/index.html'));
    await rm(project.path('console/src'), { recursive: true });
    lines = [];
    expect(await provide()).toBe('current');
    expect(lines).toEqual([]);
  });
});
