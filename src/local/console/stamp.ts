import { createHash } from 'node:crypto';
import { access, readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { readIfThere } from '../machine/secret-file.ts';
import { bundleFolder, PAGE_FILE } from './bundle-files.ts';

/** A file in the bundle that says which sources it was built from. */
export const STAMP_FILE = '.stamp';
/** Results of builds, in `console/`. */
const BUILT = /^dist[./]/;

async function sourceFiles(project: string): Promise<string[]> {
  const folder = join(project, 'console');
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((path) => !BUILT.test(path) && !path.split('/').includes('node_modules'))
    .sort()
    .map((path) => `console/${path}`);
}

/** Returns a hash of everything that the bundle is built from: the files of `console/`, and the versions of packages. */
export async function stampOf(project: string): Promise<string> {
  const files = [...(await sourceFiles(project)), 'package-lock.json'];
  const contents = await Promise.all(files.map((file) => readFile(join(project, file))));
  const hash = createHash('sha256');
  for (const [index, content] of contents.entries()) {
    hash.update(`${files[index]} ${content.length}\n`).update(content);
  }
  return hash.digest('hex');
}

/** Returns the stamp of the bundle, or undefined if there is none. */
export function bundleStamp(project: string): Promise<string | undefined> {
  return readIfThere(join(bundleFolder(project), STAMP_FILE));
}

const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

/** Whether there is a bundle, of whatever age. */
export const hasBundle = (project: string) => isThere(join(bundleFolder(project), PAGE_FILE));

/** Whether the bundle can be built here. An image has only the bundle. */
export const hasSources = (project: string) => isThere(join(project, 'console', PAGE_FILE));
