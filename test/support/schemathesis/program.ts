import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { withFileLock, type Progress } from '../../../src/local/machine/cache.ts';

const run = promisify(execFile);

const folder = fileURLToPath(new URL('.', import.meta.url));
const requirements = join(folder, 'requirements.txt');
const configFile = join(folder, 'schemathesis.toml');
const INSTALL_TIMEOUT_MS = 600_000;

function runs(program: string): Promise<boolean> {
  return run(program, ['--version']).then(
    () => true,
    () => false,
  );
}

async function install(environment: string): Promise<void> {
  await rm(environment, { recursive: true, force: true });
  try {
    await run('python3', ['-m', 'venv', environment], { timeout: INSTALL_TIMEOUT_MS });
    const pip = [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--no-input',
      '--only-binary',
      ':all:',
      '-r',
      requirements,
    ];
    await run(join(environment, 'bin', 'python'), pip, { timeout: INSTALL_TIMEOUT_MS });
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    const reason = stderr?.trim().split('\n').at(-1) ?? message;
    throw new Error(`no Schemathesis: install Python 3.10 with venv, and allow PyPI (${reason})`, {
      cause: error,
    });
  }
}

/**
 * Returns the path of Schemathesis, which tests an API against its OpenAPI description. Installs it from PyPI into a
 * virtual environment in the cache, in the versions of `requirements.txt`.
 * @throws Error that says what to install
 */
export async function findSchemathesis(cache: string, progress: Progress): Promise<string> {
  const version = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex')
    .slice(0, 12);
  const environment = join(cache, `schemathesis-${version}`);
  const program = join(environment, 'bin', 'schemathesis');
  if (await runs(program)) return program;
  const onWait = () => progress('waiting for another process to finish installing Schemathesis');
  return withFileLock(`${environment}.lock`, onWait, async () => {
    if (await runs(program)) return program;
    progress('installing Schemathesis from PyPI; needed only once');
    await install(environment);
    return program;
  });
}

/** What exists on the tested server, for `hooks.py`. */
export interface Existing {
  /** The address of the server. */
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
 * @returns its exit code, 0 if there is no difference, and its output
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
    // No schema can say that NUL is refused at any depth of a free object.
    ...['--generation-allow-x00', 'false'],
    // How fast the machine is must not matter: it may pause for longer than the default limit of 10 seconds.
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
