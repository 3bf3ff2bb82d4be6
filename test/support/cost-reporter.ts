import { relative } from 'node:path';
import { costLines, type Suite } from '../ci/cost.ts';

interface RunResults {
  startTime: number;
  testResults: { testFilePath: string; perfStats: { runtime: number } }[];
}

/** A Jest reporter: names the files and the suite that took too long, with their times. */
export default class CostReporter {
  readonly #suite: Suite;

  constructor(_config: unknown, { suite }: { suite: Suite }) {
    this.#suite = suite;
  }

  onRunComplete(_contexts: unknown, { startTime, testResults }: RunResults): void {
    const files = testResults.map(({ testFilePath, perfStats }) => ({
      name: relative(process.cwd(), testFilePath),
      seconds: perfStats.runtime / 1_000,
    }));
    const lines = costLines(this.#suite, (Date.now() - startTime) / 1_000, files);
    if (lines.length > 0) process.stderr.write(`\n${lines.join('\n')}\n`);
  }
}
