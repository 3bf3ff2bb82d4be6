// The reaper recovers the work of dead or suspended processes, and spares processes that only lose connections.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import pino from 'pino';
import { type LiveProcess, registerProcess } from '../../../src/platform/processes/process.ts';
import { startReaper } from '../../../src/platform/processes/reaper.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { type Program, runProgram, until } from '../../support/programs.ts';
import { endHeartbeatConnection, lockHolder, processIds, silentSeconds } from './backends.ts';

/** Carillon promises that stranded work moves again within 15 s. This machine may be busy. */
const RECOVERED_MS = 60_000;
/** Longer than it takes to reap a dead process. */
const WATCHED_MS = 12_000;

let test: TestDatabase;
let own: LiveProcess;
let reaper: { stop(): Promise<void> };
let recovered: number[];
/** Seconds between the last heartbeat of a recovered process and its recovery. */
const silences = new Map<number, number | undefined>();
const programs: Program[] = [];

beforeAll(async () => {
  test = await createTestDatabase();
  own = await registerProcess({ url: test.url }, 'sender', []);
  const work = {
    ownedSql: () => 'false',
    recover: async (_client: unknown, id: number) => {
      silences.set(id, await silentSeconds(test.database, id));
      recovered.push(id);
    },
    wakes: 'send',
  };
  recovered = [];
  reaper = startReaper({
    pool: test.database.pool,
    process: own,
    work: [work],
    waker: { wake: () => undefined },
    log: pino({ level: 'silent' }),
  });
});
afterEach(async () => {
  for (const program of programs) program.child.kill('SIGKILL');
  await Promise.all(programs.splice(0).map((program) => program.ended));
});
afterAll(async () => {
  await reaper.stop();
  await own.close();
  await test.drop();
});

async function startProcess(blockedMs = 0): Promise<{ program: Program; id: number }> {
  const program = runProgram('test/support/live-process.ts', [test.url, String(blockedMs)]);
  programs.push(program);
  await until(() => program.output().includes('id '), program.output);
  return { program, id: Number(/id (\d+)/.exec(program.output())?.[1]) };
}

/** Ends the connection of a heartbeat again and again. */
async function disturb(id: number, milliseconds: number): Promise<void> {
  const end = Date.now() + milliseconds;
  while (Date.now() < end) {
    await endHeartbeatConnection(test.database, id);
    await delay(100);
  }
}

it('recovers the work of a killed process', async () => {
  const { program, id } = await startProcess();
  program.child.kill('SIGKILL');
  await eventually(() => expect(recovered).toContain(id), RECOVERED_MS);
  expect(silences.get(id)).toBeGreaterThanOrEqual(5);
  expect(await processIds(test.database)).not.toContain(id);
}, 90_000);

it('spares a process that loses its connection again and again', async () => {
  const { program, id } = await startProcess();
  await disturb(id, WATCHED_MS);
  expect(recovered).not.toContain(id);
  expect(program.output()).toBe(`id ${id}\n`);
}, 60_000);

it('spares a process whose event loop is blocked, even if it loses its connection meanwhile', async () => {
  const { program, id } = await startProcess(WATCHED_MS);
  program.child.kill('SIGUSR2');
  await until(() => program.output().includes('blocked'), program.output);
  await disturb(id, WATCHED_MS / 2);
  await until(() => program.output().includes('runs'), program.output, RECOVERED_MS);
  expect(await silentSeconds(test.database, id)).toBeLessThan(10);
  expect(recovered).not.toContain(id);
  expect(program.output()).toBe(`id ${id}\nblocked\nruns\n`);
}, 90_000);

it('judges no process until its own connection is five seconds old', async () => {
  const { program, id } = await startProcess();
  program.child.kill('SIGKILL');
  await disturb(own.id() ?? 0, WATCHED_MS);
  expect(recovered).not.toContain(id);
  expect(await processIds(test.database)).toContain(id);
  await eventually(() => expect(recovered).toContain(id), RECOVERED_MS);
}, 90_000);

it('recovers the work of a process that is stopped, which registers again when it continues', async () => {
  const { program, id } = await startProcess();
  program.child.kill('SIGSTOP');
  expect(await lockHolder(test.database, id)).not.toBeNull();
  await eventually(() => expect(recovered).toContain(id), RECOVERED_MS);
  program.child.kill('SIGCONT');
  await until(() => /id \d+\nid \d+\n/.test(program.output()), program.output, RECOVERED_MS);
}, 150_000);
