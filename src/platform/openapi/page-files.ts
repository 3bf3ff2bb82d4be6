import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

const compress = promisify(gzip);

const ownFolder = fileURLToPath(new URL('./page/', import.meta.url));
const swaggerUi = fileURLToPath(import.meta.resolve('swagger-ui-dist/swagger-ui.css'));

/**
 * The files of the page that shows the description. The service serves all of them, so the page loads nothing from
 * elsewhere.
 */
const files = {
  'index.html': { path: join(ownFolder, 'index.html'), contentType: 'text/html; charset=utf-8' },
  'page.css': { path: join(ownFolder, 'page.css'), contentType: 'text/css; charset=utf-8' },
  'page.js': { path: join(ownFolder, 'page.js'), contentType: 'text/javascript; charset=utf-8' },
  'swagger-ui.css': { path: swaggerUi, contentType: 'text/css; charset=utf-8' },
  'swagger-ui-bundle.js': {
    path: join(swaggerUi, '../swagger-ui-bundle.js'),
    contentType: 'text/javascript; charset=utf-8',
  },
};

export type PageFileName = keyof typeof files;

export const pageFileNames = Object.keys(files) as PageFileName[];

export interface PageFile {
  contentType: string;
  plain: Buffer;
  gzipped: Buffer;
}

async function loadPageFile(name: PageFileName): Promise<PageFile> {
  const { path, contentType } = files[name];
  const plain = await readFile(path);
  return { contentType, plain, gzipped: await compress(plain) };
}

/** Reads and compresses each file once, on its first request. */
export function createPageFiles(): (name: PageFileName) => Promise<PageFile> {
  const loaded = new Map<PageFileName, Promise<PageFile>>();
  return (name) => {
    const known = loaded.get(name);
    if (known) return known;
    const loading = loadPageFile(name);
    loaded.set(name, loading);
    return loading;
  };
}
