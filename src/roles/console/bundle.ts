import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { LICENCES_FILE, PAGE_FILE } from '../../local/console/bundle-files.ts';

/** A file of the bundle, with the copies that the build has compressed. */
export interface Asset {
  contentType: string;
  plain: Buffer;
  br: Buffer | null;
  gzip: Buffer | null;
}

/** What the build has made of the sources. */
export interface Bundle {
  /** The page, split where each response has its nonce. */
  page: string[];
  /** By file name, without a folder: the assets, and the notices of licences. */
  files: ReadonlyMap<string, Asset>;
}

/** Stands in the page where the nonce goes; vite.config.ts has the same. */
const NONCE_PLACE = '__NONCE__';

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.ico': 'image/x-icon',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.md': 'text/plain; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
};

async function readAsset(folder: string, name: string, names: ReadonlySet<string>): Promise<Asset> {
  const path = join(folder, name);
  const copy = (ending: string) => (names.has(name + ending) ? readFile(path + ending) : null);
  const [plain, br, gzip] = await Promise.all([readFile(path), copy('.br'), copy('.gz')]);
  return { contentType: CONTENT_TYPES[extname(name)] ?? 'application/octet-stream', plain, br, gzip };
}

async function readBundle(folder: string): Promise<Bundle> {
  const page = await readFile(join(folder, PAGE_FILE), 'utf8');
  const assetFolder = join(folder, 'assets');
  const names = new Set(await readdir(assetFolder));
  const own = [...names].filter((name) => !/[.](?:br|gz)$/.test(name));
  const files = await Promise.all([
    ...own.map(async (name) => [name, await readAsset(assetFolder, name, names)] as const),
    readAsset(folder, LICENCES_FILE, new Set()).then((notices) => [LICENCES_FILE, notices] as const),
  ]);
  return { page: page.split(NONCE_PLACE), files: new Map(files) };
}

/**
 * Reads the bundle when it is first needed, and then keeps it: what a page refers to stays the same while the process
 * lives. If there is no bundle yet, the next call looks again.
 * @returns a function that returns the bundle, or null if there is none
 */
export function createBundle(folder: string): () => Promise<Bundle | null> {
  let reading: Promise<Bundle> | null = null;
  return async () => {
    reading ??= readBundle(folder);
    try {
      return await reading;
    } catch (error) {
      reading = null;
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  };
}
