/** Every folder in the covered parts of the code must have a README.md that says what belongs in it. */
import { posix } from 'node:path';

/** The folders whose own folders are checked, too. */
const COVERED = [
  'activities',
  'migrations',
  'src/cli',
  'src/delivery',
  'src/features',
  'src/local',
  'src/platform',
  'src/roles',
  'test/bench',
  'test/ci',
  'workflows',
];
/** Their subfolders are all alike, so one README.md above them is enough. */
const ALIKE = ['src/delivery/wire/providers', 'workflows'];
const MAX_LINES = 10;

const isCovered = (folder: string) =>
  COVERED.some((root) => folder === root || folder.startsWith(`${root}/`)) &&
  !ALIKE.some((parent) => folder.startsWith(`${parent}/`));

/** @returns what is wrong with the text; null if nothing is */
function faultOf(text: string): string | null {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const body = lines[0]?.startsWith('# ') ? lines.slice(1) : lines;
  if (!/^[A-Z].*[a-z]/.test(body[0] ?? '') || !/[.:](?:\s|$)/.test(body.join('\n'))) {
    return 'Open with a sentence that says what belongs in the folder.';
  }
  return body.length > MAX_LINES ? `Use at most ${MAX_LINES} lines; it has ${body.length}.` : null;
}

/**
 * @param files of the project, with their paths
 * @param read returns the text of a file
 * @returns the folders without an opening sentence, as `path: message`
 */
export function findRoomFaults(files: readonly string[], read: (path: string) => string): string[] {
  const known = new Set(files);
  const folders = new Set(files.map((file) => posix.dirname(file)).filter(isCovered));
  return [...folders].sort().flatMap((folder) => {
    const page = `${folder}/README.md`;
    if (!known.has(page)) return [`${folder}: Add a README.md that says what belongs in the folder.`];
    const fault = faultOf(read(page));
    return fault === null ? [] : [`${page}: ${fault}`];
  });
}
