import { chmodSync, existsSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { withFileLock } from '../../src/local/cache.ts';
import { findEngineProgram } from '../../src/local/engine-program.ts';

let cache: string;
const said: string[] = [];
const progress = (line: string) => void said.push(line);
beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), 'carillon-cache-'));
  said.length = 0;
});
afterEach(() => rmSync(cache, { recursive: true, force: true }));

describe('finding the engine', () => {
  it('takes the cached program without a word', async () => {
    const cached = join(cache, 'temporal-1.5.1');
    writeFileSync(cached, '');
    chmodSync(cached, 0o755);
    expect(await findEngineProgram({ cache, progress, without: ['path'] })).toBe(cached);
    expect(said).toEqual([]);
  });

  it('says in one line what to do where there is no way to one', async () => {
    const search = findEngineProgram({ cache, progress, without: ['path', 'download', 'go'] });
    await expect(search).rejects.toThrow(/^no Temporal engine: set TEMPORAL_ADDRESS [^\n]*Go[^\n]*$/);
    expect(existsSync(join(cache, 'temporal-1.5.1.lock'))).toBe(false);
  });
});

describe('a lock file', () => {
  it('lets one work at a time, and tells the others that they wait', async () => {
    const path = join(cache, 'lock');
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

  it('is taken over from a holder that died', async () => {
    const path = join(cache, 'lock');
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
