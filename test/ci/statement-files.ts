/** The committed files of `docs/sql`: see `statements.ts`. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const root = join(import.meta.dirname, '../..');
export const FOLDER = 'docs/sql';

/** @returns the committed files, by path from the repository's root */
export function committedFiles(): Map<string, string> {
  const paths = globSync(`${FOLDER}/**/*.sql`, { cwd: root });
  return new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
}

/** The statement of a file, and the name under which connections prepare it. */
export interface StatementFile {
  name: string;
  text: string;
}

export function readFile(contents: string): StatementFile {
  const [, name = ''] = /^-- Prepared as (\S+)$/m.exec(contents) ?? [];
  return { name, text: contents.slice(contents.indexOf('\n\n') + 2).trimEnd() };
}
