// A lock file admits one caller at a time, and is taken over if its holder has died.
import { existsSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { withFileLock } from '../../../src/local/machine/cache.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'carillon-lock-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('a lock file', () => {
  it('lets one caller work at a time, and calls back those that wait', async () => {
    const path = join(folder, 'lock');
    let inside = 0;
    let most = 0;
    let waited = 0;
    const work = async () => {
      most = Math.max(most, (inside += 1));
      await delay(20);
      inside -= 1;
    };
    const onWait = () => (waited += 1);
    await Promise.all([1, 2, 3].map(() => withFileLock(path, onWait, work)));
    expect(most).toBe(1);
    expect(waited).toBe(2);
    expect(existsSync(path)).toBe(false);
  });

  it('is taken over if its holder has died', async () => {
    const path = join(folder, 'lock');
    writeFileSync(path, '');
    const longAgo = new Date(Date.now() - 60_000);
    utimesSync(path, longAgo, longAgo);
    expect(
      await withFileLock(
        path,
        () => undefined,
        () => Promise.resolve('done'),
      ),
    ).toBe('done');
  });
});
