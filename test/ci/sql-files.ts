/** The `.sql` files beside the code: what fills their regions, and what is wrong with them. */
import { globSync, readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { SqlFunction, SqlStatement } from '../../src/platform/db/sql/define.ts';
import { PARTITIONS, readHeader } from '../../src/platform/db/sql/header.ts';
import { createdFunction, sqlPaths } from '../../src/platform/db/sql/names.ts';
import { partNames } from '../../src/platform/db/sql/parts.ts';
import { fillRegions, regionNames } from '../../src/platform/db/sql/regions.ts';
import { layOut } from './lay-out.ts';
import { root } from './statement-files.ts';

export type DefinedFile = SqlStatement<never> | SqlFunction<never>;

const isDefined = (value: unknown): value is DefinedFile =>
  value instanceof SqlStatement || value instanceof SqlFunction;

/** Loads what the files of the product define. */
export async function definedFiles(): Promise<DefinedFile[]> {
  const found: DefinedFile[] = [];
  for (const path of globSync('src/**/*.ts', { cwd: root }).sort()) {
    const calls = readFileSync(join(root, path), 'utf8').match(/= define(?:Sql|Function)[<(]/g)?.length ?? 0;
    if (calls === 0 || path.endsWith('platform/db/sql/define.ts')) continue;
    const exported = Object.values((await import(join(root, path))) as Record<string, unknown>);
    const files = exported.filter(isDefined);
    if (files.length < calls) throw new Error(`${path} does not export each .sql file that it defines.`);
    found.push(...files);
  }
  return found;
}

/** The file with its regions as the code fills them now. */
function filledFile({ source, regions }: DefinedFile): string {
  return fillRegions(source, (name) => {
    const sql = regions.get(name);
    if (sql === undefined) throw new Error(`the code fills no region ${name}`);
    return layOut(sql);
  });
}

/** @returns the contents of the files whose regions differ from the code, by path from the repository's root */
export async function outdatedFiles(): Promise<Map<string, string>> {
  const outdated = new Map<string, string>();
  for (const file of await definedFiles()) {
    const contents = filledFile(file);
    if (contents !== file.source) outdated.set(relative(root, file.path), contents);
  }
  return outdated;
}

/** The longest name that PostgreSQL does not cut off is 63 bytes; the hash has eight, after an underscore. */
const MAX_NAME = 54;

/** The names of a function's parameters, without its results. */
function parametersOf(source: string): string[] {
  const [, list = ''] = /^create function \w+\s*\(([^]*?)\)\s*(?:\n|returns|language)/m.exec(source) ?? [];
  return list
    .split(/,(?![^(]*\))/)
    .map((each) => each.trim().split(/\s+/))
    .filter(([first = '']) => first !== '' && first !== 'out')
    .map(([first = '', second = '']) => (['in', 'variadic'].includes(first) ? second : first));
}

/** The parameters of a statement, `$1` and so on. */
const numbersOf = (source: string): string[] =>
  [...new Set([...source.replaceAll(/--[^\n]*/g, '').matchAll(/[$]\d+/g)].map(([number]) => number))].sort();

/** The label that says when a statement runs without some of its parts. */
const PARTS = 'parts';

const CALLERS = ['sent by', 'called by'];

/** The label of a number has its type, too. */
const nameOf = (label: string) => /^[$]\d+/.exec(label)?.[0] ?? label;

function labelFaults(source: string): string[] {
  const { labelled, others } = readHeader(source);
  const labels = [...labelled.keys()].map(nameOf);
  const isFunction = createdFunction(source) !== null;
  const parameters = isFunction ? parametersOf(source) : numbersOf(source);
  const parts = partNames(source);
  const needed = [
    ...parameters,
    'locks',
    ...(isFunction ? ['sees'] : []),
    ...(parts.length > 0 ? [PARTS] : []),
  ];
  const known = [...needed, ...CALLERS, ...(isFunction ? [PARTITIONS] : [])];
  return [
    ...(CALLERS.some((label) => labels.includes(label)) ? [] : [`lacks "${CALLERS.join('" and "')}"`]),
    ...needed.filter((label) => !labels.includes(label)).map((label) => `lacks "${label}"`),
    ...labels.filter((label) => !known.includes(label)).map((label) => `has "${label}", which is unknown`),
    ...parts
      .filter((name) => !new RegExp(`\\b${name}\\b`).test(labelled.get(PARTS) ?? name))
      .map((name) => `does not say when it does without ${name}`),
    ...others.map((line) => `has a line without a label: ${line}`),
  ];
}

/** Whether the code has a function, or the product a `.sql` file, of this name. */
function isKnown(label: string, caller: string, code: string, bases: readonly string[]): boolean {
  return label === 'called by'
    ? bases.includes(caller)
    : new RegExp(`\\b(?:function|const) ${caller}\\b|^  (?:async )?#?${caller}\\(`, 'm').test(code);
}

/** @returns what is wrong with the comment at the top of a file, and with what surrounds it */
export function headerFaults(path: string, source: string, code: string, bases: readonly string[]): string[] {
  const { does, labelled } = readHeader(source);
  const base = basename(path, '.sql');
  const callers = CALLERS.flatMap((label) =>
    (labelled.get(label)?.split(', ') ?? []).map((caller) => [label, caller] as const),
  );
  const faults = [
    ...(/^[A-Z].*[.]$/.test(does) ? [] : ['does not open with a sentence that says what it does']),
    ...labelFaults(source),
    ...callers
      .filter(([label, caller]) => !isKnown(label, caller, code, bases))
      .map(([label, caller]) => `is ${label} ${caller}, which does not exist`),
    ...(/^[a-z][a-z0-9_]*$/.test(base) && base.length <= MAX_NAME
      ? []
      : [`needs a name of at most ${MAX_NAME} letters, digits and "_"`]),
    ...(createdFunction(source) !== null && /^\s*exception\b(?! using)\s*\n?\s*when\b/im.test(source)
      ? ['has an EXCEPTION block, which costs a subtransaction']
      : []),
  ];
  return faults.map((fault) => `${path} ${fault}.`);
}

/** @returns what is wrong with the `.sql` files beside the code */
export async function findSqlFaults(): Promise<string[]> {
  const defined = new Set((await definedFiles()).map(({ path }) => path));
  const paths = sqlPaths();
  const bases = paths.map((path) => basename(path, '.sql'));
  const code = globSync('src/**/*.ts', { cwd: root })
    .map((path) => readFileSync(join(root, path), 'utf8'))
    .join('\n');
  const faults = paths.flatMap((path) => {
    const source = readFileSync(path, 'utf8');
    const name = relative(root, path);
    const isUsed =
      defined.has(path) || (createdFunction(source) !== null && regionNames(source).length === 0);
    return [
      ...headerFaults(name, source, code, bases),
      ...(isUsed ? [] : [`${name} is defined by no code.`]),
    ];
  });
  const outdated = [...(await outdatedFiles()).keys()];
  return [
    ...faults,
    ...outdated.map((path) => `${path} has regions that differ from the code: npm run sql fills them.`),
  ];
}
