// The embedded engine survives crashes and taken ports, ends only its own processes, and explains failures.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Connection } from '@temporalio/client';
import { loadConfig } from '../../../src/config.ts';
import { findEngineProgram } from '../../../src/local/engine/program.ts';
import { endLeftoverEngine, startEngine, type EngineServer } from '../../../src/local/engine/server.ts';
import { cacheFolder } from '../../../src/local/machine/cache.ts';
import { createGuard, type Guard } from '../../../src/local/machine/guard.ts';
import { LocalError } from '../../../src/local/machine/local-error.ts';
import { isAlive } from '../../../src/local/machine/os-process.ts';

let guard: Guard;
let program: string;
let folder: string;
beforeAll(async () => {
  guard = createGuard();
  const config = loadConfig();
  const cache = await cacheFolder(config.CARILLON_CACHE, config.XDG_CACHE_HOME);
  program = await findEngineProgram({ cache, progress: () => undefined });
});
afterAll(() => guard.close());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'carillon-engine-'));
});
afterEach(async () => {
  await endLeftoverEngine(folder);
  rmSync(folder, { recursive: true, force: true });
});

function start(changes: { program?: string; folder?: string } = {}): Promise<EngineServer> {
  return startEngine({ program, folder, port: 0, uiPort: null, guard, ...changes });
}

/** Starts it, expecting an error of one line. Returns the line. */
async function refusal(changes: { program?: string; folder?: string }): Promise<string> {
  const error = await start(changes).then(
    (server) => server.stop().then(() => new Error('it started')),
    (failure: Error) => failure,
  );
  expect(error).toBeInstanceOf(LocalError);
  expect(error.message).not.toContain('\n');
  return error.message;
}

describe('the embedded engine', () => {
  it('keeps closed workflows for a week, listens on loopback, and is ended by the start after a crash', async () => {
    const server = await start();
    const connection = await Connection.connect({ address: server.address });
    const { config } = await connection.workflowService.describeNamespace({ namespace: 'default' });
    await connection.close();
    expect(Number(config?.workflowExecutionRetentionTtl?.seconds)).toBe(7 * 86_400);
    expect(server.address).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(Number(readFileSync(join(folder, 'pid'), 'utf8'))).toBe(server.pid);
    await endLeftoverEngine(folder);
    expect(isAlive(server.pid)).toBe(false);
    await server.ended;
  });

  it('does not end another program that has the process id of an earlier engine', async () => {
    writeFileSync(join(folder, 'pid'), String(process.pid));
    await endLeftoverEngine(folder);
    expect(isAlive(process.pid)).toBe(true);
  });

  it('says what to do if its state is damaged', async () => {
    writeFileSync(join(folder, 'temporal.db'), 'this is no database, '.repeat(1_000));
    expect(await refusal({})).toMatch(/does not start \(.+\): if .*temporal\.db is damaged, remove /);
  });

  /** Writes a program that writes lines and fails, the given number of times, before it runs the engine. */
  function failingEngine(times: number, lines: string[]): string {
    const script = join(folder, 'engine.sh');
    const starts = join(folder, 'starts');
    writeFileSync(join(folder, 'lines'), `${lines.join('\n')}\n`);
    const commands = [
      '#!/bin/sh',
      `echo start >> ${starts}`,
      `if [ $(wc -l < ${starts}) -le ${times} ]; then cat ${join(folder, 'lines')} >&2; exit 2; fi`,
      `exec ${program} "$@"`,
    ];
    writeFileSync(script, `${commands.join('\n')}\n`, { mode: 0o755 });
    return script;
  }

  const portTaken =
    'time=2026-01-01T00:00:00 level=ERROR msg="Failed to start gRPC listener" error="listen tcp 127.0.0.1:38265: bind: address already in use"';
  const panic = 'panic: runtime error: invalid memory address or nil pointer dereference';
  const trace = ['goroutine 1 [running]:', 'main.main()', '\t/cmd/temporal/main.go:18 +0x96'];

  it.each([
    ['its inner ports first', [portTaken, ...trace]],
    ['one that it was about to choose', [panic, ...trace]],
  ])('starts again if another program took %s', async (_, lines) => {
    const server = await start({ program: failingEngine(2, lines) });
    expect(isAlive(server.pid)).toBe(true);
    await server.stop();
  });

  it('gives up after three starts, and says why it ended instead of where', async () => {
    const message = await refusal({ program: failingEngine(9, [portTaken, panic, ...trace]) });
    expect(message).toContain('38265: bind: address already in use');
    expect(message).not.toContain('main.go');
    expect(readFileSync(join(folder, 'starts'), 'utf8').trim().split('\n')).toHaveLength(3);
  });

  it('reports a program that cannot be started', async () => {
    expect(await refusal({ program: join(folder, 'nothing') })).toMatch(/nothing cannot be started$/);
  });

  it('reports a folder that cannot be written', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    expect(await refusal({ folder: file })).toMatch(/cannot write to .*CARILLON_HOME/);
  });
});
