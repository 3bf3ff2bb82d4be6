import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Progress } from '../../../src/local/machine/cache.ts';
import { copyFromMaven, hasJava } from '../maven.ts';
import { findNodeModules, onceInCache } from '../npm.ts';
import { findPythonProgram } from '../python.ts';

const folder = fileURLToPath(new URL('.', import.meta.url));
const JAR = 'openapi-generator-cli-7.14.0.jar';

/** Where the client generators are. */
export interface Generators {
  /** `node_modules` with the generators of npm. */
  nodeModules: string;
  /** `bin` of a virtual environment with the generator from PyPI, and the packages that both Python clients import. */
  python: string;
  /** OpenAPI Generator. */
  jar: string;
}

async function findJar(cache: string, progress: Progress): Promise<string> {
  if (!(await hasJava())) throw new Error('java was not found');
  const name = JAR.replace(/[.]jar$/, '');
  const home = await onceInCache('client generators', join(cache, name), progress, async () => {
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
      findNodeModules({ name: 'client generators', folder }, cache, progress),
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
