// Workers that cannot run warn of each reason once, and log what the operator must change.
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { loadConfig } from '../../../src/config.ts';
import { type KeptWorkers, keepWorking } from '../../../src/platform/temporal/worker.ts';
import { useEngine, type TestEngine } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';

const { debug, warn, error } = pino.levels.values as Record<'debug' | 'warn' | 'error', number>;
const UNAVAILABLE = 'the engine is unavailable: workers will connect again';

interface Line {
  level: number;
  msg: string;
  err?: { message: string };
}

let engine: TestEngine;
let workers: KeptWorkers | undefined;
let lines: Line[] = [];

beforeAll(async () => {
  engine = await useEngine();
}, 60_000);

afterEach(async () => {
  await workers?.stop();
  lines = [];
});

/** Starts workers that never run. @param failures the error of each attempt; the last one repeats */
function keepFailing(failures: string[], settings: Record<string, string> = {}): void {
  const config = loadConfig({
    TEMPORAL_ADDRESS: engine.address,
    TEMPORAL_NAMESPACE: engine.namespace,
    ...settings,
  });
  const write = (line: string) => void lines.push(JSON.parse(line) as Line);
  let attempts = 0;
  workers = keepWorking({
    config,
    log: pino({ level: 'debug' }, { write }),
    tasks: () => {
      const failure = failures[Math.min(attempts, failures.length - 1)];
      attempts += 1;
      return Promise.reject(new Error(failure));
    },
  });
}

/** The logged errors: level, message and error. */
function logged(): [number, string, string | undefined][] {
  return lines.filter(({ err }) => err).map(({ level, msg, err }) => [level, msg, err?.message]);
}

describe('workers that cannot run', () => {
  it('warn of each reason once, even if the engine has no part in it', async () => {
    keepFailing(['no bundle', 'no bundle', 'no file', 'no bundle']);
    await eventually(() => expect(logged()).toHaveLength(4), 50_000);
    expect(logged()).toEqual([
      [warn, UNAVAILABLE, 'no bundle'],
      [debug, UNAVAILABLE, 'no bundle'],
      [warn, UNAVAILABLE, 'no file'],
      [warn, UNAVAILABLE, 'no bundle'],
    ]);
  }, 60_000);

  it('log what a person must change, and the error itself at debug level', async () => {
    keepFailing(['first', 'second'], { TEMPORAL_NAMESPACE: 'elsewhere' });
    await eventually(() => expect(logged()).toHaveLength(2), 50_000);
    const errors = lines.filter(({ level }) => level === error).map(({ msg }) => msg);
    expect(errors).toEqual([expect.stringMatching(/cannot be used: it has no namespace elsewhere/)]);
    expect(logged().map(([level]) => level)).toEqual([debug, debug]);
  }, 60_000);
});
