// One process at a time uses the home folder, a dead holder loses its lock, and foreign folders are never emptied.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { emptyHome, openHome } from '../../../src/local/home/home.ts';
import { createProcessRecord, recordedRunning } from '../../../src/local/home/process-record.ts';
import { isAlive, startMark } from '../../../src/local/machine/os-process.ts';
import { eventually } from '../../support/eventually.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'carillon-home-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the home folder', () => {
  it('is used by one process at a time', async () => {
    const home = await openHome(join(folder, 'home'));
    await expect(openHome(join(folder, 'home'))).rejects.toThrow(/already runs in .*\(process \d+\)/);
    await home.release();
    await (await openHome(join(folder, 'home'))).release();
  });

  it('waits for its holder to stop, and says so', async () => {
    const former = await openHome(join(folder, 'home'));
    await former.markStopping();
    const lines: string[] = [];
    const opening = openHome(join(folder, 'home'), { progress: (line) => lines.push(line) });
    await eventually(() =>
      expect(lines).toEqual([`waiting for the former Carillon to stop (process ${process.pid})`]),
    );
    await former.release();
    await (await opening).release();
    expect(lines).toHaveLength(1);
  });

  it('waits no longer than it may for its holder to stop', async () => {
    const former = await openHome(join(folder, 'home'));
    await former.markStopping();
    await expect(openHome(join(folder, 'home'), { limitMs: 0 })).rejects.toThrow(
      /is still stopping in .*\(process \d+\)/,
    );
    await former.release();
  });

  it('waits for the processes that a killed Carillon has left', async () => {
    const left = spawn('sleep', ['60'], { stdio: 'ignore' });
    const former = await openHome(join(folder, 'home'));
    const record = createProcessRecord(former.processRecord);
    record.add(left.pid as number);
    await eventually(async () => expect(await recordedRunning(former.processRecord)).toEqual([left.pid]));
    await former.release();
    const lines: string[] = [];
    const opening = openHome(join(folder, 'home'), { progress: (line) => lines.push(line) });
    await eventually(() =>
      expect(lines).toEqual([`waiting for the former Carillon to stop (process ${left.pid})`]),
    );
    left.kill();
    await (await opening).release();
  });

  it('does not wait for another process that has the id of a former one', async () => {
    const home = await openHome(join(folder, 'home'));
    writeFileSync(home.processRecord, JSON.stringify([{ pid: process.pid, mark: 'of another' }]));
    await home.release();
    const lines: string[] = [];
    await (await openHome(join(folder, 'home'), { progress: (line) => lines.push(line) })).release();
    expect(lines).toEqual([]);
  });

  it.each(['', '{"pid":1,"mark":"not the mark of process 1"}', '{"pid":999999999,"mark":"x"}'])(
    'is taken over if the holder of its lock is gone (lock file: %s)',
    async (content) => {
      mkdirSync(join(folder, 'home'));
      writeFileSync(join(folder, 'home', 'lock'), content);
      await (await openHome(join(folder, 'home'))).release();
    },
  );

  it('is taken over if the holder of its lock has ended but its parent has not read the exit code', async () => {
    // The shell becomes a program that never reads the exit code of its child.
    const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 30'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    await eventually(() => expect(isAlive(pid)).toBe(false));
    const mark = await startMark(pid);
    expect(mark).not.toBe('');
    mkdirSync(join(folder, 'home'));
    writeFileSync(join(folder, 'home', 'lock'), JSON.stringify({ pid, mark }));
    await (await openHome(join(folder, 'home'))).release();
    parent.kill();
  });

  it('is emptied only if Carillon created it', async () => {
    const home = await openHome(join(folder, 'home'));
    writeFileSync(home.path('anything'), '');
    await emptyHome(home);
    expect(existsSync(home.path('anything'))).toBe(false);
    await home.release();

    const foreign = join(folder, 'documents');
    mkdirSync(foreign);
    writeFileSync(join(foreign, 'thesis'), '');
    const other = await openHome(foreign);
    await expect(emptyHome(other)).rejects.toThrow(/was not created by Carillon/);
    expect(existsSync(join(foreign, 'thesis'))).toBe(true);
  });
});
