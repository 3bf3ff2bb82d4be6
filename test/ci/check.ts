/**
 * The static checks, all at the same time. `check.ts` checks everything, `check.ts --changed` the files that differ
 * from the last commit, `check.ts FILE…` the files or folders given.
 *
 * Nothing is cached. Errors that a change causes in other files are found only if everything is checked.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findCommentFaults } from './comments.ts';
import { findTypeFaults, TYPES_FILE } from './console-types.ts';
import { findDocFaults } from './docs.ts';
import { findLicenceFaults, type LicensedPackage, type Lock, packagesIn } from './licences.ts';
import { findMutualFolders, findRoomFaults } from './rooms.ts';
import { findSqlFaults } from './sql-files.ts';
import { findSchemaFaults, SCHEMA_FILE } from './schema.ts';
import { findStatementFaults } from './statements.ts';

interface Outcome {
  passed: boolean;
  output: string;
}

interface Check {
  name: string;
  run: () => Outcome | Promise<Outcome>;
}

const root = join(import.meta.dirname, '../..');
const codeFolders = ['src', 'workflows', 'activities', 'migrations', 'console', 'test'];

function filesOfGit(...args: string[]): string[] {
  const output = execFileSync('git', [...args, '-z'], { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 });
  return output.split('\0').filter(Boolean);
}

const allFiles = () => filesOfGit('ls-files', '--cached', '--others', '--exclude-standard');

function changedFiles(): string[] {
  const changed = filesOfGit('diff', '--name-only', '--no-renames', 'HEAD');
  return [...changed, ...filesOfGit('ls-files', '--others', '--exclude-standard')];
}

/** @throws Error if a path names no file of the project */
function filesIn(paths: readonly string[]): string[] {
  const files = allFiles();
  return paths.flatMap((path) => {
    const name = path.replace(/^[.][/]/, '').replace(/[/]$/, '');
    const found = files.filter((file) => file === name || file.startsWith(`${name}/`));
    if (found.length === 0) throw new Error(`${path} is not a file or folder of the project`);
    return found;
  });
}

/** The settings of a tool, such as tsconfig.json or .oxlintrc.json, concern all files. */
const settings = /^(?:[.][^/]+|[^/]+[.](?:js|json))$/;

/** A removed file concerns every file that imported it. */
const concernsAll = (file: string) => settings.test(file) || !existsSync(join(root, file));

/**
 * Prints what is checked.
 * @returns null for everything
 */
function chosenFiles(args: readonly string[]): string[] | null {
  if (args.length === 0) return null;
  const files = args[0] === '--changed' ? changedFiles() : filesIn(args);
  const central = files.find(concernsAll);
  process.stdout.write(
    central
      ? `${central} concerns all files\n`
      : `${files.length} ${files.length === 1 ? 'file' : 'files'}\n`,
  );
  return central ? null : files;
}

function runTool(tool: string, args: readonly string[]): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  const env = process.stdout.isTTY ? { ...process.env, FORCE_COLOR: '1' } : process.env;
  const child = spawn(join(root, 'node_modules/.bin', tool), args, {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  child.on('error', reject);
  child.on('close', (code) => resolve({ passed: code === 0, output }));
  return promise;
}

function checkComments(files: readonly string[]): Outcome {
  const present = files.filter((file) => existsSync(join(root, file)));
  const faults = present.flatMap((file) => findCommentFaults(file, readFileSync(join(root, file), 'utf8')));
  return { passed: faults.length === 0, output: faults.join('\n') };
}

function checkDocs(files: readonly string[]): Outcome {
  const exists = (path: string) => existsSync(join(root, path));
  const pages = files.filter((file) => file.endsWith('.md') && exists(file));
  const faults = pages.flatMap((file) => findDocFaults(file, readFileSync(join(root, file), 'utf8'), exists));
  return { passed: faults.length === 0, output: faults.join('\n') };
}

function checkRooms(files: readonly string[]): Outcome {
  const present = files.filter((file) => existsSync(join(root, file)));
  const read = (file: string) => readFileSync(join(root, file), 'utf8');
  const faults = [...findRoomFaults(present, read), ...findMutualFolders(present, read)];
  return { passed: faults.length === 0, output: faults.join('\n') };
}

/** The packages that the console imports. */
function bundledPackages(): string[] {
  const sources = allFiles().filter(
    (file) => /^console\/src\/.*[.]tsx?$/.test(file) && existsSync(join(root, file)),
  );
  return [...new Set(sources.flatMap((file) => packagesIn(readFileSync(join(root, file), 'utf8'))))].sort();
}

function checkLicences(): Outcome {
  const read = (path: string) => readFileSync(join(root, path), 'utf8');
  const { dependencies } = JSON.parse(read('package.json')) as { dependencies: object };
  const faults = findLicenceFaults(
    read('docs/licences.md'),
    { dependencies: Object.keys(dependencies), bundled: bundledPackages() },
    JSON.parse(read('package-lock.json')) as Lock,
    (folder) => {
      const path = `${folder}/package.json`;
      return existsSync(join(root, path)) ? (JSON.parse(read(path)) as LicensedPackage) : null;
    },
  );
  return { passed: faults.length === 0, output: faults.join('\n') };
}

async function checkStatements(): Promise<Outcome> {
  const faults = [...(await findSqlFaults()), ...(await findStatementFaults())];
  return { passed: faults.length === 0, output: faults.join('\n') };
}

async function checkConsoleTypes(): Promise<Outcome> {
  const faults = await findTypeFaults(readFileSync(join(root, TYPES_FILE), 'utf8'));
  return { passed: faults.length === 0, output: faults.join('\n') };
}

async function checkSchema(): Promise<Outcome> {
  const path = join(root, SCHEMA_FILE);
  const faults = await findSchemaFaults(existsSync(path) ? readFileSync(path, 'utf8') : '');
  return { passed: faults.length === 0, output: faults.join('\n') };
}

/** What the database's schema, or the text that shows it, depends on. */
const ofSchema = /^(?:migrations\/|docs\/schema[.]sql$|test\/ci\/(?:catalogue|schema))/;

function checksOf(files: readonly string[] | null): Check[] {
  // Only a check of everything can see that something is unused.
  const unused = { name: 'unused code', run: () => runTool('knip', ['--treat-config-hints-as-errors']) };
  const comments = { name: 'comments', run: () => checkComments(files ?? allFiles()) };
  // A page may name a file that was moved, so all pages are checked.
  const docs = { name: 'documentation', run: () => checkDocs(allFiles()) };
  const rooms = { name: 'folders', run: () => checkRooms(allFiles()) };
  const licences = { name: 'licences', run: checkLicences };
  // A fragment may be part of statements of many files, so all statements are composed.
  const statements = { name: 'statements', run: checkStatements };
  const consoleTypes = { name: 'console types', run: checkConsoleTypes };
  const schema = { name: 'schema', run: checkSchema };
  if (!files) {
    return [
      { name: 'types and lint', run: () => runTool('oxlint', []) },
      { name: 'format', run: () => runTool('prettier', ['--check', '.']) },
      { name: 'imports', run: () => runTool('depcruise', codeFolders) },
      unused,
      comments,
      docs,
      rooms,
      licences,
      statements,
      consoleTypes,
      schema,
    ];
  }
  if (files.length === 0) return [];
  const code = files.filter((file) => /[.](?:[jt]s|tsx)$/.test(file));
  const ofCode = [
    { name: 'types and lint', run: () => runTool('oxlint', code) },
    { name: 'imports', run: () => runTool('depcruise', code) },
    unused,
    consoleTypes,
  ];
  const hasSql = code.length > 0 || files.some((file) => file.endsWith('.sql'));
  const format = () => runTool('prettier', ['--check', '--ignore-unknown', ...files]);
  return [
    ...(code.length > 0 ? ofCode : []),
    ...(hasSql ? [statements] : []),
    ...(files.some((file) => ofSchema.test(file)) ? [schema] : []),
    { name: 'format', run: format },
    comments,
    docs,
    rooms,
    licences,
  ];
}

/** Reports a check as soon as it ends. @returns whether it passed */
async function report({ name, run }: Check, startedAt: number): Promise<boolean> {
  const { passed, output } = await run();
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  process.stdout.write(`${passed ? '✓' : '✗'} ${name.padEnd(14)} ${seconds.padStart(5)} s\n`);
  if (!passed) process.stdout.write(`\n${output.trim()}\n\n`);
  return passed;
}

try {
  const startedAt = performance.now();
  const checks = checksOf(chosenFiles(process.argv.slice(2)));
  const passed = await Promise.all(checks.map((check) => report(check, startedAt)));
  process.exitCode = passed.every(Boolean) ? 0 : 1;
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
