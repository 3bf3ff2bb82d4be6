import { randomBytes } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { systemCode } from './local-error.ts';

/** Write a file that only its owner may read, whole or not at all. */
export async function writePrivateFile(path: string, content: string): Promise<void> {
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
  try {
    await writeFile(draft, content, { mode: 0o600, flag: 'wx' });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** @returns the file's content, or undefined where there is no such file */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** A secret kept in a file (mode 0600): made at the first call, the same from then on. */
export async function keptSecret(path: string, bytes = 32): Promise<string> {
  const kept = (await readIfThere(path))?.trim();
  if (kept) return kept;
  const secret = randomBytes(bytes).toString('base64url');
  await writePrivateFile(path, `${secret}\n`);
  return secret;
}
