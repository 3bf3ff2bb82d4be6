/**
 * Judges the runs of the suites for CI: `judge-run.ts [<npm script> <Jest's JSON report> <exit code>]…`.
 *
 * A test file with a failure runs again once, alone. A test that then passes is listed as flaky. A test that fails
 * again makes the run red, and so does a skipped test. The last line reads `N passed, N failed`.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { budgets, costLines, type Suite } from './cost.ts';
import { failedFiles, outcomeOf, parseReport, skippedTests, type JestReport } from './outcome.ts';

/** The run of a suite. */
interface Run {
  suite: Suite;
  reportPath: string;
  exitCode: number;
}

/** What a suite contributes to the last line. */
interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/** Returns null if Jest ended before it had written its report. */
function readReport(path: string): JestReport | null {
  try {
    return parseReport(readFileSync(path, 'utf8'));
  } catch (error) {
    process.stderr.write(`no report of Jest in ${path}: ${(error as Error).message}\n`);
    return null;
  }
}

function runAgain(suite: Suite, file: string, folder: string): JestReport[] {
  process.stderr.write(`\n== once more, alone: ${relative(process.cwd(), file)}\n`);
  const path = join(folder, 'report.json');
  rmSync(path, { force: true });
  const args = [
    'run',
    suite,
    '--',
    '--maxWorkers=1',
    '--json',
    `--outputFile=${path}`,
    '--runTestsByPath',
    file,
  ];
  spawnSync('npm', args, { stdio: ['ignore', 2, 2] });
  const found = readReport(path);
  return found ? [found] : [];
}

function list(title: string, lines: readonly string[]): void {
  if (lines.length === 0) return;
  const shown = lines.map((line) => `  ${line.replace(`${process.cwd()}/`, '')}`);
  process.stdout.write(`\n${title}\n${shown.join('\n')}\n`);
}

function showCost(suite: Suite, { testResults }: JestReport): void {
  const files = testResults.map(({ name, startTime, endTime }) => ({
    name: relative(process.cwd(), name),
    seconds: (endTime - startTime) / 1_000,
  }));
  const starts = testResults.map(({ startTime }) => startTime);
  const ends = testResults.map(({ endTime }) => endTime);
  const wholeSeconds = files.length > 0 ? (Math.max(...ends) - Math.min(...starts)) / 1_000 : 0;
  const lines = costLines(suite, wholeSeconds, files);
  if (lines.length > 0) process.stdout.write(`\n${lines.join('\n')}\n`);
}

function judge({ suite, reportPath, exitCode }: Run, folder: string): Counts {
  const first = readReport(reportPath);
  if (!first) {
    list('FAILED', [`npm run ${suite} ended with exit code ${exitCode} and wrote no report`]);
    return { passed: 0, failed: 1, skipped: 0 };
  }
  const failures = failedFiles(first);
  const again = failures.flatMap((file) => runAgain(suite, file, folder));
  const outcome = outcomeOf(first, again);
  const skipped = skippedTests(first);
  const unexplained = exitCode !== 0 && failures.length === 0;
  showCost(suite, first);
  list('SKIPPED: CI installs what every test needs, so this is an error', skipped);
  list('FLAKY: failed once, passed once', outcome.flaky);
  list('FAILED twice', outcome.broken);
  if (unexplained)
    list('FAILED', [`npm run ${suite} ended with exit code ${exitCode}, although no test failed`]);
  return { passed: outcome.passed, failed: outcome.failed + (unexplained ? 1 : 0), skipped: skipped.length };
}

function parseRuns(args: readonly string[]): Run[] {
  const [suite, reportPath, exitCode, ...rest] = args;
  if (suite === undefined) return [];
  if (!(suite in budgets) || reportPath === undefined || exitCode === undefined)
    throw new Error(`usage: judge-run.ts [<npm script> <report> <exit code>]…, not: ${args.join(' ')}`);
  return [{ suite: suite as Suite, reportPath, exitCode: Number(exitCode) }, ...parseRuns(rest)];
}

const folder = mkdtempSync(join(tmpdir(), 'carillon-ci-'));
try {
  const counts = parseRuns(process.argv.slice(2)).map((run) => judge(run, folder));
  const sum = (name: keyof Counts) => counts.reduce((total, each) => total + each[name], 0);
  process.stdout.write(`\n${sum('passed')} passed, ${sum('failed')} failed\n`);
  process.exitCode = counts.length > 0 && sum('failed') === 0 && sum('skipped') === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
