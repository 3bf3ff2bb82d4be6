/**
 * Every folder in the covered parts of the code must have a README.md that says what belongs in it, and no two folders of
 * delivery may import each other.
 */
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

/** The part of the code in which no two folders import each other. */
const STOREYS = 'src/delivery/';
const IMPORT = /(?:from|import\()\s*'(\.{1,2}\/[^']+)'/g;

/** The folders that a file imports from, each with the first import. */
function importedFolders(file: string, text: string): Map<string, string> {
  const folder = posix.dirname(file);
  const targets = [...text.matchAll(IMPORT)].map(([, path = '']) => posix.join(folder, path));
  const others = targets.filter((path) => path.startsWith(STOREYS) && posix.dirname(path) !== folder);
  return new Map(others.reverse().map((path) => [posix.dirname(path), `${file} imports ${path}`]));
}

/**
 * Finds folders of delivery that import each other, types included: neither can be understood without the other.
 * @param files of the project, with their paths
 * @param read returns the text of a file
 * @returns each pair with an import in both directions, as `path: message`
 */
export function findMutualFolders(files: readonly string[], read: (path: string) => string): string[] {
  const code = files.filter((file) => file.startsWith(STOREYS) && file.endsWith('.ts'));
  const imports = new Map<string, Map<string, string>>();
  for (const file of code) {
    const known = imports.get(posix.dirname(file)) ?? new Map<string, string>();
    imports.set(posix.dirname(file), new Map([...importedFolders(file, read(file)), ...known]));
  }
  return [...imports].flatMap(([folder, targets]) =>
    [...targets].flatMap(([other, there]) => {
      const back = folder < other ? imports.get(other)?.get(folder) : undefined;
      return back === undefined
        ? []
        : [`${folder}: Imports ${other} and is imported by it: ${there}, ${back}.`];
    }),
  );
}
