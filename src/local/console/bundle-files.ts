import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the project, which contains `console/` and `node_modules/`. */
export const PROJECT = fileURLToPath(new URL('../../../', import.meta.url));

/** Returns the folder of the bundle. */
export const bundleFolder = (project: string) => join(project, 'console', 'dist');

/** The page of the bundle, from which every page of the console starts. */
export const PAGE_FILE = 'index.html';

/** The notices of the packages whose code is in the bundle. */
export const LICENCES_FILE = 'licences.md';
