// Warnings of the Temporal library reach the log, except the one about workers without workflows.
import { expect, it } from '@jest/globals';
import { runProgram } from '../../support/programs.ts';

it('passes on warnings of the library, except for workers without workflows', async () => {
  const program = runProgram('test/support/library-warnings.ts', []);
  expect(await program.ended).toBe(0);
  const lines = program.output().trim().split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { level: 40, taskQueue: 'delivery', msg: 'temporal: something is wrong' },
  ]);
});
