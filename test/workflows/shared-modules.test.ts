// The modules of workflows are loaded once for all runs of a worker, so that none may keep anything of a run.
import { readdir, readFile } from 'node:fs/promises';
import { expect, it } from '@jest/globals';

const folder = new URL('../../workflows/', import.meta.url);

/** A variable outside of functions that changes, or whose value can. */
const CHANGES = /^(?:export )?(?:(?:let|var) .*|const .* = (?:new (?:Weak)?(?:Map|Set)\b|\[\]|\{\}).*)$/gm;

it('keeps nothing of a run outside of functions', async () => {
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.ts'));
  expect(files).toContain('flows/workflow.ts');
  const found = await Promise.all(
    files.map(async (file) => (await readFile(new URL(file, folder), 'utf8')).match(CHANGES) ?? []),
  );
  expect(found.flat()).toEqual([]);
});
