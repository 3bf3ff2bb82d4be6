// Every benchmark loads under plain Node.js and appears in the output of --help.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

it('lists the benchmarks by --help, so each of them loads outside the test runner', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['test/bench/main.ts', '--help']);
  for (const bench of ['messages', 'live', 'campaign', 'flows', 'imports', 'size'])
    expect(stdout).toContain(bench);
});
