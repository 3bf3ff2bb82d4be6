/**
 * Fills the regions of the `.sql` files beside the code, and writes docs/sql: a file for each shape of each composed
 * statement. Files of statements that are gone are removed.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { outdatedFiles } from './sql-files.ts';
import { committedFiles, readFile, root, type StatementFile } from './statement-files.ts';
import { composeFiles } from './statements.ts';

function lastCommitted(path: string): StatementFile | null {
  const { status, stdout } = spawnSync('git', ['show', `HEAD:${path}`], { encoding: 'utf8' });
  return status === 0 ? readFile(stdout) : null;
}

const withoutSpace = ({ text }: StatementFile) => text.replaceAll(/\s+/g, '');

/** Whether the statement has another text than in the last commit, under the same name. Examples have no name. */
function needsNewName(path: string, contents: string): boolean {
  const [before, now] = [lastCommitted(path), readFile(contents)];
  return now.name !== '' && before?.name === now.name && withoutSpace(before) !== withoutSpace(now);
}

const outdated = await outdatedFiles();
for (const [path, contents] of outdated) {
  writeFileSync(join(root, path), contents);
  process.stdout.write(`${path}\n`);
}
if (outdated.size > 0) {
  // What is composed below may call a function whose name has just changed, and this process knows the former text.
  const { status } = spawnSync(process.execPath, [import.meta.filename], { stdio: 'inherit' });
  process.exit(status ?? 1);
}

const composed = await composeFiles();
const committed = committedFiles();
for (const path of committed.keys()) {
  if (!composed.has(path)) rmSync(path);
}
for (const [path, contents] of composed) {
  if (committed.get(path) === contents) continue;
  if (needsNewName(path, contents)) {
    process.stderr.write(`${path}: the text has changed, so raise the version of the statement\n`);
    process.exitCode = 1;
    continue;
  }
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, contents);
  process.stdout.write(`${path}\n`);
}
