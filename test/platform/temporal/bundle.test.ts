// Bundling the workflows does not load the bundler into the memory of the calling role.
import { expect, it } from '@jest/globals';
import { runProgram } from '../../support/programs.ts';

it('bundles the workflows without the memory of a bundler in the role that asks', async () => {
  const program = runProgram('test/support/bundling-process.ts', []);
  expect(await program.ended).toBe(0);
  const { grownMb, hasCampaigns } = JSON.parse(program.output()) as Record<string, unknown>;
  expect(hasCampaigns).toBe(true);
  expect(grownMb).toBeLessThan(80);
}, 120_000);
