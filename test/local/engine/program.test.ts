import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { findEngineProgram } from '../../../src/local/engine/program.ts';
import { withFileLock } from '../../../src/local/machine/cache.ts';
import { runProgram } from '../../support/programs.ts';

let cache: string;
const said: string[] = [];
const progress = (line: string) => void said.push(line);
beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), 'carillon-cache-'));
  said.length = 0;
});
afterEach(() => rmSync(cache, { recursive: true, force: true }));

/** The lines of a search that finds nothing but the system's own programs and these shell scripts. */
async function searchWith(scripts: Record<string, string>): Promise<string[]> {
  const folder = join(cache, 'bin');
  mkdirSync(folder, { recursive: true });
  for (const [name, script] of Object.entries({ temporal: 'exit 1', ...scripts })) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  const PATH = `${folder}:/usr/bin:/bin`;
  const program = runProgram('test/support/find-engine.ts', [cache], { PATH });
  await program.ended;
  return program.output().trim().split('\n');
}

describe('finding the engine', () => {
  it('takes the cached program without a word', async () => {
    const cached = join(cache, 'temporal-1.5.1');
    writeFileSync(cached, '');
    chmodSync(cached, 0o755);
    expect(await findEngineProgram({ cache, progress, without: ['path'] })).toBe(cached);
    expect(said).toEqual([]);
  });

  it('takes the one on PATH where it works, before the cached one', async () => {
    const cached = join(cache, 'temporal-1.5.1');
    writeFileSync(cached, '');
    chmodSync(cached, 0o755);
    expect(await searchWith({ temporal: 'exit 0' })).toEqual(['found temporal']);
    expect(await searchWith({ temporal: 'exit 1' })).toEqual([`found ${cached}`]);
  });

  it('builds it with Go once, told of as it goes, and keeps it for the next time', async () => {
    const install = `test "$*" = "install github.com/temporalio/cli/cmd/temporal@v1.5.1" || exit 1
      echo built > "$GOBIN/temporal"; chmod +x "$GOBIN/temporal"`;
    const go = `test "$1" = version && exit 0\n${install}`;
    const cached = join(cache, 'temporal-1.5.1');
    expect(await searchWith({ go })).toEqual([
      'building the Temporal engine 1.5.1 with Go: 5 to 8 minutes, this once',
      expect.stringMatching(/^built the Temporal engine in \d+ s$/),
      `found ${cached}`,
    ]);
    expect(readFileSync(cached, 'utf8')).toBe('built\n');
    expect(readdirSync(cache).sort()).toEqual(['bin', 'temporal-1.5.1']);
    expect(await searchWith({ go: 'exit 1' })).toEqual([`found ${cached}`]);
  });

  it('says why Go could not build it, and leaves nothing half made', async () => {
    const go = 'test "$1" = version && exit 0; echo first >&2; echo no space left >&2; exit 1';
    expect(await searchWith({ go })).toEqual([
      expect.stringMatching(/^building /),
      'the Temporal engine could not be built: no space left',
      expect.stringMatching(/^carillon: no Temporal engine: /),
    ]);
    expect(readdirSync(cache)).toEqual(['bin']);
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
