import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Creates a temporary folder that every user can enter. A database that root starts there has its data in it, as its
 * user can reach them; the data of a database in a folder for root only are elsewhere on the machine.
 * @param parent by default the folder for temporary files
 */
export function createOpenFolder(prefix: string, parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, prefix));
  chmodSync(folder, 0o755);
  return folder;
}
