import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** A function of the database as this version needs it. */
export interface DatabaseFunction {
  /** The name in its file, which is also the name of the file. */
  base: string;
  /** The name under which it is installed: `base` and a hash of the text. */
  name: string;
  /** The file, with the installed names of the functions that it calls. */
  text: string;
}

const SOURCES = join(import.meta.dirname, '../../..');

const FUNCTION = /^create function (\w+)\s*\(/m;

/** The name of the function that the text creates; null if it is a statement. */
export const createdFunction = (source: string): string | null => FUNCTION.exec(source)?.[1] ?? null;

/** PostgreSQL cuts longer names without an error, and `_` and the hash take nine characters. */
const MAX_BASE = 63 - 9;

/** `<base>_<hash>`: the same name means the same text, also in another version of Carillon. */
export function hashedName(base: string, text: string): string {
  if (base.length > MAX_BASE) throw new Error(`${base} is longer than ${MAX_BASE} characters`);
  return `${base}_${createHash('sha256').update(text).digest('hex').slice(0, 8)}`;
}

/** Replaces the names of called functions by those under which they are installed. */
function withNames(text: string, names: ReadonlyMap<string, string>): string {
  if (names.size === 0) return text;
  const called = new RegExp(`\\b(?:${[...names.keys()].join('|')})(?=\\s*\\()`, 'g');
  return text.replaceAll(called, (base) => names.get(base) ?? base);
}

/** The functions of some files, each after those that it calls. */
class FunctionSet {
  readonly #sources: ReadonlyMap<string, string>;
  readonly #made = new Map<string, DatabaseFunction>();

  /** @param sources the texts of the files by the names of their functions */
  constructor(sources: ReadonlyMap<string, string>) {
    this.#sources = sources;
    for (const base of [...sources.keys()].sort()) this.#add(base, []);
  }

  get all(): readonly DatabaseFunction[] {
    return [...this.#made.values()];
  }

  /** The text of a statement, with the installed names of the functions that it calls. */
  resolve(text: string): string {
    return withNames(text, this.#names());
  }

  /** The function of a file with another text, such as filled from another table. */
  make(base: string, source: string): DatabaseFunction {
    const called = this.#names();
    called.delete(base);
    const text = withNames(source, called);
    const name = hashedName(base, text);
    return { base, name, text: withNames(text, new Map([[base, name]])) };
  }

  #names(): Map<string, string> {
    return new Map([...this.#made.values()].map(({ base, name }) => [base, name]));
  }

  #add(base: string, callers: readonly string[]): void {
    if (this.#made.has(base)) return;
    if (callers.includes(base))
      throw new Error(`functions call each other: ${[...callers, base].join(', ')}`);
    const source = this.#sources.get(base) ?? '';
    for (const other of this.#sources.keys()) {
      if (other !== base && new RegExp(`\\b${other}\\s*\\(`).test(source))
        this.#add(other, [...callers, base]);
    }
    this.#made.set(base, this.make(base, source));
  }
}

/** @param sources the texts of the files by the names of their functions */
export const functionsOf = (sources: ReadonlyMap<string, string>): FunctionSet => new FunctionSet(sources);

/** The paths of all `.sql` files of the product. */
export const sqlPaths = (): string[] =>
  readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.sql'))
    .sort()
    .map((path) => join(SOURCES, path));

function readFunctions(): FunctionSet {
  const sources = new Map<string, string>();
  for (const path of sqlPaths()) {
    const source = readFileSync(path, 'utf8');
    const base = createdFunction(source);
    if (base === null) continue;
    if (base !== basename(path, '.sql') || sources.has(base)) {
      throw new Error(`${path} creates ${base}: a file is named after its function, and no two are alike`);
    }
    sources.set(base, source);
  }
  return functionsOf(sources);
}

let functions: FunctionSet | undefined;

/** The functions of all files, read once: the files may be replaced while this version still runs. */
export function productFunctions(): FunctionSet {
  functions ??= readFunctions();
  return functions;
}
