import { execFile } from 'node:child_process';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export function hasJava(): Promise<boolean> {
  return run('java', ['-version']).then(
    () => true,
    () => false,
  );
}

/**
 * Puts the dependencies of a `pom.xml` into a folder of the cache.
 * @param folder its name in the cache; its content is replaced
 * @returns its path
 */
export async function copyFromMaven(pom: string, cache: string, folder: string): Promise<string> {
  const jars = join(cache, folder);
  const draft = await mkdtemp(join(cache, 'maven-'));
  try {
    const copy = ['-q', '-B', '-f', pom, 'dependency:copy-dependencies', '-DincludeScope=runtime'];
    await run('mvn', [...copy, `-DoutputDirectory=${draft}`], { maxBuffer: 64 << 20, timeout: 600_000 });
    await rm(jars, { recursive: true, force: true });
    await rename(draft, jars);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return jars;
}
