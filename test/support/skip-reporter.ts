import { relative } from 'node:path';
import { missingTools } from './tools.ts';

interface RunResults {
  numPendingTests: number;
  testResults: { testFilePath: string; numPendingTests: number }[];
}

/** A Jest reporter: lists at the end which files had skipped tests, and what to install to run them. */
export default class SkipReporter {
  onRunComplete(_contexts: unknown, { numPendingTests, testResults }: RunResults): void {
    if (numPendingTests === 0) return;
    const files = testResults.filter((file) => file.numPendingTests > 0);
    const lines = [
      `Skipped ${numPendingTests} tests:`,
      ...files.map((file) => `  ${relative(process.cwd(), file.testFilePath)}: ${file.numPendingTests}`),
      ...Object.values(missingTools()),
    ];
    process.stderr.write(`\n${lines.join('\n')}\n`);
  }
}
