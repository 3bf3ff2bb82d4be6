/**
 * Judges a run of `npm test` for CI: `judge-run.ts <Jest's JSON report> <exit code of npm test>`.
 *
 * A test file with a failure runs again once, alone. A test that then passes is listed as flaky; a test that fails
 * again makes the run red, and so does a skipped test. The last line reads `N passed, N failed`.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { failedFiles, outcomeOf, parseReport, skippedTests, type JestReport } from './outcome.ts';

/** Returns null if Jest ended before it had written its report. */
function readReport(path: string): JestReport | null {
  try {
    return parseReport(readFileSync(path, 'utf8'));
  } catch (error) {
    process.stderr.write(`no report of Jest in ${path}: ${(error as Error).message}\n`);
    return null;
  }
}

function runAgain(file: string, folder: string): JestReport[] {
  process.stderr.write(`\n== once more, alone: ${relative(process.cwd(), file)}\n`);
  const path = join(folder, 'report.json');
  rmSync(path, { force: true });
  const args = ['test', '--', '--runInBand', '--json', `--outputFile=${path}`, '--runTestsByPath', file];
  spawnSync('npm', args, { stdio: ['ignore', 2, 2] });
  const found = readReport(path);
  return found ? [found] : [];
}

function list(title: string, lines: readonly string[]): void {
  if (lines.length === 0) return;
  const shown = lines.map((line) => `  ${line.replace(`${process.cwd()}/`, '')}`);
  process.stdout.write(`\n${title}\n${shown.join('\n')}\n`);
}

/** @returns the exit code: 0 only if every test ran and passed at least once */
function judge(first: JestReport | null, exitCode: number, folder: string): number {
  if (!first) {
    process.stdout.write(
      `\nnpm test ended with exit code ${exitCode} and wrote no report\n0 passed, 1 failed\n`,
    );
    return 1;
  }
  const failures = failedFiles(first);
  const outcome = outcomeOf(
    first,
    failures.flatMap((file) => runAgain(file, folder)),
  );
  const skipped = skippedTests(first);
  const unexplained = exitCode !== 0 && failures.length === 0;
  list('SKIPPED: CI installs what every test needs, so this is an error', skipped);
  list('FLAKY: failed once, passed once', outcome.flaky);
  list('FAILED twice', outcome.broken);
  if (unexplained) list('FAILED', [`npm test ended with exit code ${exitCode}, although no test failed`]);
  const failed = outcome.failed + (unexplained ? 1 : 0);
  process.stdout.write(`\n${outcome.passed} passed, ${failed} failed\n`);
  return failed > 0 || skipped.length > 0 ? 1 : 0;
}

const [path = '', exitCode = ''] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'carillon-ci-'));
try {
  process.exitCode = judge(readReport(path), Number(exitCode), folder);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
