import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Creates a temporary folder that every user can enter. A database that root starts there keeps its data in it. If only
 * root could enter the folder, the data would be elsewhere on the machine.
 * @param parent by default the folder for temporary files
 */
export function createOpenFolder(prefix: string, parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, prefix));
  chmodSync(folder, 0o755);
  return folder;
}
