// The first pages of the console load little JavaScript, and no other page loads much at once.
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from '@jest/globals';
import { builtConsole } from '../support/console-project.ts';

/** In bytes, compressed by brotli. */
const MAX_FIRST = 200_000;
const MAX_CHUNK = 130_000;

/** What Vite writes of a chunk. */
interface Chunk {
  file: string;
  isEntry?: boolean;
  /** The chunks that are loaded before it runs. */
  imports?: string[];
  /** The chunks that it may load later. */
  dynamicImports?: string[];
}

let folder: string;
let chunks: Record<string, Chunk>;
beforeAll(async () => {
  folder = await builtConsole();
  chunks = JSON.parse(readFileSync(join(folder, '.vite/manifest.json'), 'utf8')) as Record<string, Chunk>;
}, 120_000);

function sizeOf(file: string): number {
  const path = join(folder, file);
  return (statSync(`${path}.br`, { throwIfNoEntry: false }) ?? statSync(path)).size;
}

/** The JavaScript files that a browser loads before these chunks run. */
function filesOf(names: string[], found = new Set<string>()): Set<string> {
  for (const name of names) {
    const { file = '', imports = [] } = chunks[name] ?? {};
    if (found.has(file)) continue;
    found.add(file);
    filesOf(imports, found);
  }
  return found;
}

const bytesOf = (files: Iterable<string>) => [...files].reduce((sum, file) => sum + sizeOf(file), 0);

it('loads at most 200 KB for the sign-in and the overview', () => {
  const entries = Object.keys(chunks).filter((name) => chunks[name]?.isEntry);
  const pages = Object.keys(chunks).filter((name) =>
    /^src\/(?:pages\/(?:sign-in|overview)|shell\/brand-frame)\b/.test(name),
  );
  // What these pages show at once, such as charts, but not what the frame loads when it is asked for.
  const parts = pages
    .filter((name) => name.startsWith('src/pages/'))
    .flatMap((name) => chunks[name]?.dynamicImports ?? []);
  expect(pages).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/sign-in/),
      expect.stringMatching(/overview/),
      expect.stringMatching(/brand-frame/),
    ]),
  );
  const files = [...filesOf([...entries, ...pages, ...parts])].filter((file) => file.endsWith('.js'));
  expect(bytesOf(files)).toBeLessThanOrEqual(MAX_FIRST);
});

it('loads at most 130 KB in one chunk', () => {
  const files = [...filesOf(Object.keys(chunks))].filter((file) => file.endsWith('.js'));
  const large = files.filter((file) => sizeOf(file) > MAX_CHUNK).map((file) => [file, sizeOf(file)]);
  expect(large).toEqual([]);
  expect(files.length).toBeGreaterThan(5);
});
