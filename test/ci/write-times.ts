/**
 * Writes into test/README.md how long the tests of each folder take: `write-times.ts <report of npm test> <report of
 * test:system>`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseReport } from './outcome.ts';

interface Times {
  files: number;
  seconds: number;
}

const README = fileURLToPath(new URL('../README.md', import.meta.url));
const [BEGIN, END] = ['<!-- times -->', '<!-- /times -->'];

/** The first two folders of a file below `test`, such as `features/lists`. */
function folderOf(path: string): string {
  const folders = relative(process.cwd(), path).split(sep).slice(1, -1);
  return folders.slice(0, 2).join('/') || '(no folder)';
}

function timesOf(path: string): Map<string, Times> {
  const folders = new Map<string, Times>();
  for (const { name, startTime, endTime } of parseReport(readFileSync(path, 'utf8')).testResults) {
    const { files, seconds } = folders.get(folderOf(name)) ?? { files: 0, seconds: 0 };
    folders.set(folderOf(name), { files: files + 1, seconds: seconds + (endTime - startTime) / 1_000 });
  }
  return folders;
}

const cells = (times: Times | undefined) => (times ? `${times.files} | ${times.seconds.toFixed(1)}` : ' | ');

/** @returns a table in Markdown with a row per folder: the sum of the seconds of its files */
function tableOf(test: Map<string, Times>, system: Map<string, Times>): string {
  const rows = [...new Set([...test.keys(), ...system.keys()])]
    .sort()
    .map((folder) => `| ${folder} | ${cells(test.get(folder))} | ${cells(system.get(folder))} |`);
  const head = ['| folder | files | seconds | system files | seconds |', '|---|--:|--:|--:|--:|'];
  return [...head, ...rows].join('\n');
}

const [test, system] = process.argv.slice(2);
if (test === undefined || system === undefined)
  throw new Error('usage: npm run test:times -- <report of npm test> <report of npm run test:system>');
const page = readFileSync(README, 'utf8');
const before = page.slice(0, page.indexOf(BEGIN) + BEGIN.length);
const after = page.slice(page.indexOf(END));
writeFileSync(README, `${before}\n\n${tableOf(timesOf(test), timesOf(system))}\n\n${after}`);
