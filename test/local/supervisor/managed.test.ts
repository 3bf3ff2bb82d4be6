// The supervisor restarts a child process that ends, with growing delays, until it is asked to stop.
import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { keepRunning, type Managed, type Running } from '../../../src/local/supervisor/managed.ts';
import { eventually } from '../../support/eventually.ts';

/** A process that ends when the test says so. */
interface Life extends Running {
  end(): void;
}

interface Kept {
  managed: Managed;
  lives: Life[];
  pids: (number | null)[];
  /** The waits before the second and later starts, in milliseconds. */
  waits: number[];
  logged: string[];
  /** Ends the running process after it lived for `ms`, and waits for the next. */
  liveAndDie(ms: number): Promise<void>;
}

function life(pid: number): Life {
  let end: () => void = () => undefined;
  const ended = new Promise<void>((done) => (end = done));
  return { pid, ended, end, stop: () => Promise.resolve(end()) };
}

interface KeepOptions {
  /** The numbers of the starts that fail, counted from 1. */
  failing?: number[];
  /** If true, a wait lasts until it is aborted. */
  endless?: boolean;
  maxDelayMs?: number;
}

async function keep({ failing = [], endless = false, maxDelayMs }: KeepOptions = {}): Promise<Kept> {
  const [lives, pids, waits, logged]: [Life[], (number | null)[], number[], string[]] = [[], [], [], []];
  let now = 0;
  let starts = 0;
  const managed = await keepRunning({
    name: 'worker',
    log: pino({ level: 'info' }, { write: (line: string) => void logged.push(line) }),
    firstDelayMs: 1_000,
    ...(maxDelayMs === undefined ? {} : { maxDelayMs }),
    now: () => now,
    wait(ms, signal) {
      waits.push(ms);
      now += ms;
      return endless ? once(signal, 'abort') : Promise.resolve();
    },
    onPid: (pid) => pids.push(pid),
    start() {
      starts += 1;
      if (failing.includes(starts)) return Promise.reject(new Error('no memory'));
      lives.push(life(100 + starts));
      return Promise.resolve(lives.at(-1) as Life);
    },
  });
  const liveAndDie = async (ms: number) => {
    const before = lives.length;
    now += ms;
    lives.at(-1)?.end();
    await eventually(() => expect(pids).toHaveLength(2 * before + 1));
  };
  return { managed, lives, pids, waits, logged, liveAndDie };
}

describe('a child process that ends', () => {
  it('is restarted after one second, then two, four … at most thirty', async () => {
    const kept = await keep();
    for (let death = 0; death < 8; death += 1) await kept.liveAndDie(100);
    expect(kept.waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    expect(kept.pids).toEqual([101, ...Array.from({ length: 8 }, (_, n) => [null, 102 + n]).flat()]);
    await kept.managed.stop();
  });

  it('is restarted after at most the configured longest delay', async () => {
    const kept = await keep({ maxDelayMs: 5_000 });
    for (let death = 0; death < 5; death += 1) await kept.liveAndDie(100);
    expect(kept.waits).toEqual([1_000, 2_000, 4_000, 5_000, 5_000]);
    await kept.managed.stop();
  });

  it('is restarted soon if it ran for ten seconds', async () => {
    const kept = await keep();
    for (const ms of [100, 9_900, 10_000, 100]) await kept.liveAndDie(ms);
    expect(kept.waits).toEqual([1_000, 2_000, 1_000, 2_000]);
    await kept.managed.stop();
  });

  it('is tried again if it does not start, and logs the reason', async () => {
    const kept = await keep({ failing: [2, 3] });
    await kept.liveAndDie(100);
    expect(kept.waits).toEqual([1_000, 2_000, 4_000]);
    expect(kept.lives).toHaveLength(2);
    expect(kept.logged.join('')).toContain('worker did not start: no memory');
    await kept.managed.stop();
  });

  it('is not restarted after a stop, even if the stop comes while it waits', async () => {
    const kept = await keep({ endless: true });
    kept.lives[0]?.end();
    await eventually(() => expect(kept.waits).toEqual([1_000]));
    await kept.managed.stop();
    expect(kept.lives).toHaveLength(1);
    expect(kept.pids).toEqual([101, null]);
  });
});

it('throws the error of the first start', async () => {
  await expect(keep({ failing: [1] })).rejects.toThrow('no memory');
});
