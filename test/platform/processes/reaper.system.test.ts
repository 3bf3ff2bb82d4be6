// The reaper recovers the work of dead or suspended processes, and spares processes that only lose connections.
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import pino from 'pino';
import type { Database } from '../../../src/platform/db/database.ts';
import { type LiveProcess, registerProcess } from '../../../src/platform/processes/process.ts';
import { startReaper } from '../../../src/platform/processes/reaper.ts';
import { createTestDatabase } from '../../support/database.ts';
import { testPulse } from '../../support/pulse.ts';
import { eventually } from '../../support/eventually.ts';
import { type Program, runProgram, until } from '../../support/programs.ts';
import { endHeartbeatConnection, lockHolder, processIds, silentSeconds } from './backends.ts';

/** Carillon promises that stranded work moves again within 15 s. This machine may be busy. */
const RECOVERED_MS = 60_000;
/** Longer than it takes to reap a dead process. */
const WATCHED_MS = 12_000;

/** A database with a reaper, which recovers the work of the processes there. */
interface Stage {
  database: Database;
  /** The process of the reaper. */
  own: LiveProcess;
  recovered: number[];
  /** Seconds between the last heartbeat of a recovered process and its recovery. */
  silences: Map<number, number | undefined>;
  startProcess(blockedMs?: number): Promise<{ program: Program; id: number }>;
  /** Ends the connection of a heartbeat again and again. */
  disturb(id: number, milliseconds: number): Promise<void>;
}

/** Each test has a stage of its own: they wait for seconds, so they run side by side. */
async function onStage(check: (stage: Stage) => Promise<void>): Promise<void> {
  const { url, database, drop } = await createTestDatabase();
  const own = await registerProcess({ url }, 'sender', []);
  const recovered: number[] = [];
  const silences: Stage['silences'] = new Map();
  const programs: Program[] = [];
  const recover = async (_client: unknown, id: number) => {
    silences.set(id, await silentSeconds(database, id));
    recovered.push(id);
  };
  const reaper = startReaper({
    pool: database.pool,
    process: own,
    work: [{ ownedSql: () => 'false', recover, wakes: 'send' }],
    waker: { wake: () => undefined },
    pulse: testPulse(database.pool),
    log: pino({ level: 'silent' }),
  });
  const startProcess: Stage['startProcess'] = async (blockedMs = 0) => {
    const program = runProgram('test/support/live-process.ts', [url, String(blockedMs)]);
    programs.push(program);
    await until(() => program.output().includes('id '), program.output);
    return { program, id: Number(/id (\d+)/.exec(program.output())?.[1]) };
  };
  const disturb: Stage['disturb'] = async (id, milliseconds) => {
    const end = Date.now() + milliseconds;
    while (Date.now() < end) {
      await endHeartbeatConnection(database, id);
      await delay(100);
    }
  };
  try {
    await check({ database, own, recovered, silences, startProcess, disturb });
  } finally {
    for (const program of programs) program.child.kill('SIGKILL');
    await Promise.all(programs.map((program) => program.ended));
    await reaper.stop();
    await own.close();
    await drop();
  }
}

it.concurrent(
  'recovers the work of a killed process',
  () =>
    onStage(async ({ database, recovered, silences, startProcess }) => {
      const { program, id } = await startProcess();
      program.child.kill('SIGKILL');
      await eventually(() => expect(recovered).toContain(id), RECOVERED_MS);
      expect(silences.get(id)).toBeGreaterThanOrEqual(5);
      await eventually(async () => expect(await processIds(database)).not.toContain(id));
    }),
  90_000,
);

it.concurrent(
  'spares a process that loses its connection again and again',
  () =>
    onStage(async ({ recovered, startProcess, disturb }) => {
      const { program, id } = await startProcess();
      await disturb(id, WATCHED_MS);
      expect(recovered).not.toContain(id);
      expect(program.output()).toBe(`id ${id}\n`);
    }),
  60_000,
);

it.concurrent(
  'spares a process whose event loop is blocked, even if it loses its connection meanwhile',
  () =>
    onStage(async ({ database, recovered, startProcess, disturb }) => {
      const { program, id } = await startProcess(WATCHED_MS);
      program.child.kill('SIGUSR2');
      await until(() => program.output().includes('blocked'), program.output);
      await disturb(id, WATCHED_MS / 2);
      await until(() => program.output().includes('runs'), program.output, RECOVERED_MS);
      expect(await silentSeconds(database, id)).toBeLessThan(10);
      expect(recovered).not.toContain(id);
      expect(program.output()).toBe(`id ${id}\nblocked\nruns\n`);
    }),
  90_000,
);

it.concurrent(
  'judges no process until its own connection is five seconds old',
  () =>
    onStage(async ({ database, own, recovered, startProcess, disturb }) => {
      const { program, id } = await startProcess();
      program.child.kill('SIGKILL');
      await disturb(own.id() ?? 0, WATCHED_MS);
      expect(recovered).not.toContain(id);
      expect(await processIds(database)).toContain(id);
      await eventually(() => expect(recovered).toContain(id), RECOVERED_MS);
    }),
  90_000,
);

it.concurrent(
  'recovers the work of a process that is stopped, which registers again when it continues',
  () =>
    onStage(async ({ database, recovered, startProcess }) => {
      const { program, id } = await startProcess();
      program.child.kill('SIGSTOP');
      expect(await lockHolder(database, id)).not.toBeNull();
      await eventually(() => expect(recovered).toContain(id), RECOVERED_MS);
      program.child.kill('SIGCONT');
      await until(() => /id \d+\nid \d+\n/.test(program.output()), program.output, RECOVERED_MS);
    }),
  150_000,
);
