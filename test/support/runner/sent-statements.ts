/** Compares what tests send to PostgreSQL with `docs/sql`. Each text is looked at once in a process. */
import pg from 'pg';
import { layOut } from '../../ci/lay-out.ts';
import { committedFiles, readFile } from '../../ci/statement-files.ts';

let committed: ReadonlyMap<string, string> | undefined;

/** The texts in docs/sql by the names under which they are prepared. They are read once, when they are first needed. */
function committedTexts(): ReadonlyMap<string, string> {
  committed ??= new Map([...committedFiles().values()].map(readFile).map(({ name, text }) => [name, text]));
  return committed;
}

/** What was sent without a fault, by name. */
const seen = new Map<string, string>();

function faultOf(name: string, text: string): string | null {
  const expected = committedTexts().get(name);
  if (expected === undefined) return seen.has(name) ? `${name} is sent with two texts.` : null;
  return expected === layOut(text)
    ? null
    : `${name} is sent with another text than that of its file in docs/sql.`;
}

interface StatementLike {
  name?: unknown;
  text?: unknown;
}

let faults: string[] = [];
let ignored = new Set<string>();

function look(query: unknown): void {
  const { name, text } = (typeof query === 'object' && query !== null ? query : {}) as StatementLike;
  if (typeof name !== 'string' || typeof text !== 'string' || seen.get(name) === text) return;
  if (ignored.has(name)) return;
  const fault = faultOf(name, text);
  if (fault === null) seen.set(name, text);
  else faults.push(fault);
}

const { query } = pg.Client.prototype as unknown as { query: (...args: unknown[]) => unknown };
Object.assign(pg.Client.prototype, {
  query(this: pg.Client, ...args: unknown[]): unknown {
    look(args[0]);
    return query.apply(this, args);
  },
});

/** For a file that composes these statements of parts of its own. */
export function ignoreStatements(...names: string[]): void {
  ignored = new Set(names);
}

/** @throws Error if the file that ends has sent a statement that is not in docs/sql as it should be */
export function checkSentStatements(): void {
  const found = faults;
  faults = [];
  ignored = new Set();
  if (found.length > 0) throw new Error(found.join('\n'));
}
