import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { toolCache } from '../tools.ts';
import { findGenerators, type Generators } from './tools.ts';

const execute = promisify(execFile);

const clients = fileURLToPath(new URL('./clients/', import.meta.url));
const tsc = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url));

export type GeneratorName = 'openapi-typescript' | 'hey-api' | 'openapi-python-client' | 'openapi-generator';

/** The output of the programs in `clients`: what they sent, according to the responses. */
export interface Sent {
  message: { id: number; subject: string };
  campaign: { id: number; status: string; section: string };
  flow: { id: number; status: string; steps: string[] };
}

export interface ClientStage {
  /**
   * Generates a client, compiles or imports it, and runs the program in `clients` that uses it.
   * @throws Error with the output of whatever failed
   */
  run(name: GeneratorName, settings: Record<string, string>): Promise<Sent>;
  close(): Promise<void>;
}

/** The TypeScript settings of a strict project. */
const TSCONFIG = {
  compilerOptions: {
    ...{ target: 'es2024', lib: ['es2024', 'dom', 'dom.iterable'], module: 'nodenext', types: [] },
    ...{ noEmit: true, allowImportingTsExtensions: true, erasableSyntaxOnly: true },
    ...{ strict: true, noUncheckedIndexedAccess: true, skipLibCheck: true },
  },
  include: ['*.ts', 'client'],
};

/** A folder for one client, and a way to run programs in it. */
interface Place {
  folder: string;
  document: string;
  generators: Generators;
  settings: Record<string, string>;
}

async function run(
  { folder, settings }: Pick<Place, 'folder' | 'settings'>,
  program: string,
  args: readonly string[],
): Promise<string> {
  const { PATH = '' } = process.env;
  const env = { ...settings, PATH, HOME: folder, LANG: 'C.UTF-8', PYTHONDONTWRITEBYTECODE: '1' };
  try {
    const { stdout } = await execute(program, args, { cwd: folder, env, maxBuffer: 64 << 20 });
    return stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    const output = `${stdout}\n${stderr}`.slice(-5_000);
    throw new Error(`${program} ${args.join(' ')} failed:\n${output}`, { cause: error });
  }
}

/** Compiles the client and the program, and runs them. */
async function runTypeScript(place: Place, name: GeneratorName): Promise<string> {
  const { folder, generators } = place;
  await symlink(generators.nodeModules, join(folder, 'node_modules'));
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(TSCONFIG));
  await copyFile(join(clients, `${name}.ts.txt`), join(folder, 'send.ts'));
  await run(place, process.execPath, [tsc, '--project', '.']);
  return run(place, process.execPath, ['send.ts']);
}

async function runPython(place: Place, name: GeneratorName): Promise<string> {
  await copyFile(join(clients, `${name}.py`), join(place.folder, 'send.py'));
  return run(place, join(place.generators.python, 'python'), ['send.py']);
}

const generatorOf: Record<GeneratorName, (place: Place) => Promise<string>> = {
  async 'openapi-typescript'(place) {
    const program = join(place.generators.nodeModules, 'openapi-typescript/bin/cli.js');
    await run(place, process.execPath, [program, place.document, '--output', 'client/schema.ts']);
    return runTypeScript(place, 'openapi-typescript');
  },
  async 'hey-api'(place) {
    const config = {
      input: place.document,
      output: { path: 'client', module: { extension: '.ts' } },
      plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
    };
    await writeFile(join(place.folder, 'config.mjs'), `export default ${JSON.stringify(config)}`);
    const program = join(place.generators.nodeModules, '@hey-api/openapi-ts/bin/run.js');
    await run(place, process.execPath, [program, '--file', 'config.mjs', '--no-log-file']);
    return runTypeScript(place, 'hey-api');
  },
  async 'openapi-python-client'(place) {
    // The content types of files, which the generator does not know. It knows those of JSON.
    const config = {
      post_hooks: [],
      content_type_overrides: {
        'application/yaml': 'text/plain',
        'message/rfc822': 'application/octet-stream',
        '*/*': 'application/octet-stream',
      },
    };
    await writeFile(join(place.folder, 'config.json'), JSON.stringify(config));
    const options = ['--path', place.document, '--output-path', 'client', '--meta', 'none'];
    const program = join(place.generators.python, 'openapi-python-client');
    await run(place, program, ['generate', ...options, '--config', 'config.json', '--fail-on-warning']);
    return runPython(place, 'openapi-python-client');
  },
  async 'openapi-generator'(place) {
    const options = ['-i', place.document, '-g', 'python', '-o', '.', '--package-name', 'client'];
    const jvm = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-jar', place.generators.jar];
    await run(place, 'java', [...jvm, 'generate', ...options]);
    return runPython(place, 'openapi-generator');
  },
};

/**
 * Generates clients from a description, in a separate folder.
 * @param document in JSON
 */
export async function openClientStage(document: string): Promise<ClientStage> {
  const generators = await findGenerators(await toolCache(), () => undefined);
  const home = await mkdtemp(join(tmpdir(), 'carillon-clients-'));
  const file = join(home, 'openapi.json');
  await writeFile(file, document);
  return {
    async run(name, settings) {
      const folder = join(home, name);
      await mkdir(folder);
      const output = await generatorOf[name]({ folder, document: file, generators, settings });
      return JSON.parse(output) as Sent;
    },
    close: () => rm(home, { recursive: true, force: true }),
  };
}
