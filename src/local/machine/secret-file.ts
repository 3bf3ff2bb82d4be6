import { randomBytes } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { systemCode } from './local-error.ts';

/** Writes a file that only its owner may read, atomically. The file must have only one writer. */
export async function writePrivateFile(path: string, content: string): Promise<void> {
  const draft = `${path}.new`;
  await rm(draft, { force: true });
  await writeFile(draft, content, { mode: 0o600, flag: 'wx' });
  await rename(draft, path);
}

/** Returns the file's content, or undefined if there is no such file. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Returns the secret in a file (mode 0600), which the first call creates. Concurrent calls return the same secret. */
export async function keptSecret(path: string, bytes = 32): Promise<string> {
  const kept = (await readIfThere(path))?.trim();
  if (kept) return kept;
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  await writeFile(draft, `${randomBytes(bytes).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
  try {
    // Unlike a rename, a link does not overwrite the secret that another process has just created.
    await link(draft, path);
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return (await readFile(path, 'utf8')).trim();
}
