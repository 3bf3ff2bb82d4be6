import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { loadConfig } from '../../../src/config.ts';
import { type KeptWorkers, keepWorking } from '../../../src/platform/temporal/worker.ts';
import { useEngine, type TestEngine } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';

const { debug, warn, error } = pino.levels.values as Record<'debug' | 'warn' | 'error', number>;
const AWAY = 'the engine is away: workers connect again';

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

/** Workers that never come to work. @param failures what each try fails with; the last one lasts */
function keepFailing(failures: string[], settings: Record<string, string> = {}): void {
  const config = loadConfig({
    TEMPORAL_ADDRESS: engine.address,
    TEMPORAL_NAMESPACE: engine.namespace,
    ...settings,
  });
  const write = (line: string) => void lines.push(JSON.parse(line) as Line);
  let tries = 0;
  workers = keepWorking({
    config,
    log: pino({ level: 'debug' }, { write }),
    tasks: () => {
      const failure = failures[Math.min(tries, failures.length - 1)];
      tries += 1;
      return Promise.reject(new Error(failure));
    },
  });
}

/** What was said to an operator or, at the level of debug, to who looks for more. */
function said(): [number, string, string | undefined][] {
  return lines.filter(({ err }) => err).map(({ level, msg, err }) => [level, msg, err?.message]);
}

describe('what workers that do not work say', () => {
  it('is each reason once, also where the engine has no part in it', async () => {
    keepFailing(['no bundle', 'no bundle', 'no file', 'no bundle']);
    await eventually(() => expect(said()).toHaveLength(4), 15_000);
    expect(said()).toEqual([
      [warn, AWAY, 'no bundle'],
      [debug, AWAY, 'no bundle'],
      [warn, AWAY, 'no file'],
      [warn, AWAY, 'no bundle'],
    ]);
  }, 30_000);

  it('is what a person must change, and on asking for more the error itself', async () => {
    keepFailing(['first', 'second'], { TEMPORAL_NAMESPACE: 'elsewhere' });
    await eventually(() => expect(said()).toHaveLength(2), 15_000);
    const told = lines.filter(({ level }) => level === error).map(({ msg }) => msg);
    expect(told).toEqual([expect.stringMatching(/cannot be used: it has no namespace elsewhere/)]);
    expect(said().map(([level]) => level)).toEqual([debug, debug]);
  }, 30_000);
});
