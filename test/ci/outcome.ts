import { z } from 'zod';

const file = z.object({
  name: z.string(),
  status: z.string(),
  /** In milliseconds since 1970. */
  startTime: z.number(),
  endTime: z.number(),
  assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })),
});

/** The parts of Jest's `--json` report that decide the outcome of a run. */
const report = z.object({ testResults: z.array(file) });

export type JestReport = z.infer<typeof report>;
type FileReport = z.infer<typeof file>;

export function parseReport(text: string): JestReport {
  return report.parse(JSON.parse(text));
}

/** The files to run again: those with a failed test, and those that failed to load or failed in a hook. */
export function failedFiles({ testResults }: JestReport): string[] {
  return testResults.filter(({ status }) => status === 'failed').map(({ name }) => name);
}

function testsWith({ assertionResults }: FileReport, ...statuses: string[]): string[] {
  return assertionResults.filter(({ status }) => statuses.includes(status)).map(({ fullName }) => fullName);
}

/** One line per test that did not run: its file and its name. */
export function skippedTests({ testResults }: JestReport): string[] {
  return testResults.flatMap((each) =>
    testsWith(each, 'pending', 'skipped', 'todo', 'disabled').map((test) => `${each.name}: ${test}`),
  );
}

/** The outcome of a run whose failed files ran a second time. */
export interface Outcome {
  passed: number;
  failed: number;
  /** Tests that failed in one run and passed in the other; one line each: file and test. */
  flaky: string[];
  /** Tests that failed and never passed; one line each. */
  broken: string[];
}

const WHOLE_FILE = 'fails outside its tests';

/** A file missing from the report counts as one that did not run. */
function failuresOf(run: FileReport | undefined): string[] {
  if (!run) return [];
  const failed = testsWith(run, 'failed');
  return run.status === 'failed' && failed.length === 0 ? [WHOLE_FILE] : failed;
}

function judgeFile(first: FileReport, second: FileReport | undefined): Outcome {
  const passed = new Set([first, ...(second ? [second] : [])].flatMap((run) => testsWith(run, 'passed')));
  // A failure outside the tests is reported only if no test fails: only a clean second run clears the file.
  if (second && !failuresOf(second).includes(WHOLE_FILE)) passed.add(WHOLE_FILE);
  const failed = [...new Set([...failuresOf(first), ...failuresOf(second)])];
  const broken = failed.filter((test) => !passed.has(test));
  const counted = second && second.assertionResults.length > 0 ? second : first;
  const isBroken = (test: string) => broken.includes(test);
  const line = (test: string) => `${first.name}: ${test}`;
  return {
    passed: testsWith(counted, 'passed', 'failed').filter((test) => !isBroken(test)).length,
    failed: broken.length,
    flaky: failed.filter((test) => !isBroken(test)).map(line),
    broken: broken.map(line),
  };
}

/**
 * Judges a run.
 * @param again reports of the second runs of the failed files
 */
export function outcomeOf(first: JestReport, again: readonly JestReport[]): Outcome {
  const seconds = new Map(
    again.flatMap(({ testResults }) => testResults).map((each) => [each.name, each] as const),
  );
  const parts = first.testResults.map((each) =>
    each.status === 'failed'
      ? judgeFile(each, seconds.get(each.name))
      : { passed: testsWith(each, 'passed').length, failed: 0, flaky: [], broken: [] },
  );
  return {
    passed: parts.reduce((sum, part) => sum + part.passed, 0),
    failed: parts.reduce((sum, part) => sum + part.failed, 0),
    flaky: parts.flatMap((part) => part.flaky),
    broken: parts.flatMap((part) => part.broken),
  };
}
