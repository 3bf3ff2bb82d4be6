// The test files that run longest exist, and start first.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { LONGEST, longestFirst } from './sequencer.ts';

const rootDir = join(import.meta.dirname, '../../..');
const pathOf = (name: string) => join(rootDir, 'test', `${name}.system.test.ts`);
const orderOf = (...names: string[]) =>
  longestFirst(names.map((name) => ({ name, path: pathOf(name), context: { config: { rootDir } } }))).map(
    ({ name }) => name,
  );

describe('the longest test files', () => {
  it.each(LONGEST)('exist: %s', (name) => {
    expect(existsSync(pathOf(name))).toBe(true);
  });

  it('start before the others, which keep their order', () => {
    const [first = '', second = ''] = LONGEST;
    expect(orderOf('roles/worker', second, 'cli/other', first)).toEqual([
      first,
      second,
      'roles/worker',
      'cli/other',
    ]);
  });
});
