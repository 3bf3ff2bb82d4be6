import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Progress } from '../../../src/local/machine/cache.ts';
import { findPythonProgram } from '../python.ts';

const folder = fileURLToPath(new URL('.', import.meta.url));
const requirements = join(folder, 'requirements.txt');
const configFile = join(folder, 'schemathesis.toml');

/**
 * Returns the path of Schemathesis, which tests an API against its OpenAPI description. Installs it from PyPI into a
 * virtual environment in the cache, in the versions of `requirements.txt`.
 * @throws Error that says what to install
 */
export async function findSchemathesis(cache: string, progress: Progress): Promise<string> {
  const wanted = { name: 'Schemathesis', requirements, program: 'schemathesis' };
  return join(await findPythonProgram(wanted, cache, progress), wanted.program);
}

/** The data of the tested server, for `hooks.py`. */
export interface Existing {
  /** The server's URL. */
  url: string;
  /** An API key. */
  key: string;
  /** The id of its brand. */
  brand: string;
  /** A verified sender. */
  sender: string;
  /** The signed id of an image. */
  image: string;
  /** A URL that a webhook may have. */
  webhook_url: string;
}

/**
 * Runs every check of Schemathesis, with the same requests each time.
 * @returns its output and exit code, which is 0 if there is no difference
 */
export async function runSchemathesis(
  program: string,
  existing: Existing,
  maxExamples: number,
): Promise<{ code: number | null; output: string }> {
  const options = [
    ...[
      '--no-color',
      '--config-file',
      configFile,
      'run',
      `${existing.url}/openapi.json`,
      '--header',
      `Authorization: Bearer ${existing.key}`,
    ],
    ...['--checks', 'all', '--phases', 'examples,coverage,fuzzing,stateful', '--continue-on-failure'],
    ...['--generation-deterministic', '--max-examples', String(maxExamples)],
    // A schema cannot say that NUL is refused at any depth of a free-form object.
    ...['--generation-allow-x00', 'false'],
    // The machine's speed must not matter: it may pause for longer than the default limit of 10 seconds.
    ...['--suppress-health-check', 'all', '--request-timeout', '300', '--max-response-time', '120'],
  ];
  const cwd = await mkdtemp(join(tmpdir(), 'carillon-schemathesis-'));
  const child = spawn(program, options, {
    cwd,
    env: {
      PATH: process.env.PATH,
      HOME: cwd,
      LANG: 'C.UTF-8',
      PYTHONPATH: folder,
      PYTHONDONTWRITEBYTECODE: '1',
      SCHEMATHESIS_HOOKS: 'hooks',
      CARILLON_EXISTING: JSON.stringify(existing),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    return { code, output };
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
}
