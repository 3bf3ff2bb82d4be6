import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT } from '../../src/local/console/bundle-files.ts';

const ROUTE = /getParentRoute: \(\) => brandRoute,\s*path: '([^']*)'/g;

/** The paths of all pages about a brand, below it, as the console's routes have them: `/messages/$messageId`. */
export function brandPages(): string[] {
  const files = globSync('console/src/pages/*/routes.ts*', { cwd: PROJECT });
  const paths = files.flatMap((file) => {
    const text = readFileSync(join(PROJECT, file), 'utf8');
    return Array.from(text.matchAll(ROUTE), ([, path = '']) => path.replace(/^\//, ''));
  });
  return paths.map((path) => (path === '' ? '' : `/${path}`)).sort();
}

/** @throws Error if there is no id for a parameter of the path */
export function pathWith(path: string, ids: Record<string, number>): string {
  return path.replaceAll(/\$(\w+)/g, (_, name: string) => {
    const id = ids[name];
    if (id === undefined) throw new Error(`the tests have no ${name} for ${path}`);
    return String(id);
  });
}
