// The local installation finds, builds and caches the Temporal program, and explains why it cannot.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { reportError } from '../../../src/cli/program.ts';
import { findEngineProgram } from '../../../src/local/engine/program.ts';

let cache: string;
const lines: string[] = [];
const progress = (line: string) => void lines.push(line);
beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), 'carillon-cache-'));
  lines.length = 0;
});
afterEach(() => rmSync(cache, { recursive: true, force: true }));

const systemPath = process.env.PATH;
afterEach(() => {
  process.env.PATH = systemPath;
});

/** Runs a search with only the system's programs and these shell scripts on PATH. Returns the lines it writes. */
async function searchWith(scripts: Record<string, string>): Promise<string[]> {
  const folder = join(cache, 'bin');
  mkdirSync(folder, { recursive: true });
  for (const [name, script] of Object.entries({ temporal: 'exit 1', ...scripts })) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  process.env.PATH = `${folder}:/usr/bin:/bin`;
  const written: string[] = [];
  const say = (line: string) => void written.push(line.trimEnd());
  try {
    say(`found ${await findEngineProgram({ cache, progress: say, without: ['download'] })}`);
  } catch (error) {
    reportError(error, { write: say });
  }
  return written;
}

describe('finding the engine', () => {
  it('takes the cached program without any output', async () => {
    const cached = join(cache, 'temporal-1.5.1');
    writeFileSync(cached, '');
    chmodSync(cached, 0o755);
    expect(await findEngineProgram({ cache, progress, without: ['path'] })).toBe(cached);
    expect(lines).toEqual([]);
  });

  it('prefers the program on PATH to the cached one, if it works', async () => {
    const cached = join(cache, 'temporal-1.5.1');
    writeFileSync(cached, '');
    chmodSync(cached, 0o755);
    expect(await searchWith({ temporal: 'exit 0' })).toEqual(['found temporal']);
    expect(await searchWith({ temporal: 'exit 1' })).toEqual([`found ${cached}`]);
  });

  it('builds it with Go, reports progress, and caches the program', async () => {
    const install = `test "$*" = "install github.com/temporalio/cli/cmd/temporal@v1.5.1" || exit 1
      echo built > "$GOBIN/temporal"; chmod +x "$GOBIN/temporal"`;
    const go = `test "$1" = version && exit 0\n${install}`;
    const cached = join(cache, 'temporal-1.5.1');
    expect(await searchWith({ go })).toEqual([
      'building the Temporal engine 1.5.1 with Go: this takes 5 to 8 minutes, once',
      expect.stringMatching(/^built the Temporal engine in \d+ s$/),
      `found ${cached}`,
    ]);
    expect(readFileSync(cached, 'utf8')).toBe('built\n');
    expect(readdirSync(cache).sort()).toEqual(['bin', 'temporal-1.5.1']);
    expect(await searchWith({ go: 'exit 1' })).toEqual([`found ${cached}`]);
  });

  it('reports why Go could not build it, and leaves no partial files', async () => {
    const go = 'test "$1" = version && exit 0; echo first >&2; echo no space left >&2; exit 1';
    expect(await searchWith({ go })).toEqual([
      expect.stringMatching(/^building /),
      'the Temporal engine could not be built: no space left',
      expect.stringMatching(/^carillon: no Temporal engine: /),
    ]);
    expect(readdirSync(cache)).toEqual(['bin']);
  });

  it('says in one line what to do if there is no way to get the program', async () => {
    const search = findEngineProgram({ cache, progress, without: ['path', 'download', 'go'] });
    await expect(search).rejects.toThrow(/^no Temporal engine: set TEMPORAL_ADDRESS [^\n]*Go[^\n]*$/);
    expect(existsSync(join(cache, 'temporal-1.5.1.lock'))).toBe(false);
  });
});
