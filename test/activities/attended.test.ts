// A long activity sends heartbeats while it works, with the latest details, and is notified when it should end.
import { once } from 'node:events';
import { expect, it } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { attended } from '../../activities/attended.ts';
import type { Attendance } from '../../src/platform/temporal/contract.ts';

const environmentOf = (info = {}) =>
  new MockActivityEnvironment(info, { logger: new DefaultLogger('ERROR', () => undefined) });

/** Runs the work, which gets the next heartbeat at each call of `beat`. @returns the details of all heartbeats */
async function heard(
  work: (attendance: Attendance, beat: () => Promise<unknown>) => Promise<void>,
  heartbeatMs = 5,
): Promise<unknown[]> {
  const environment = environmentOf();
  const all: unknown[] = [];
  environment.on('heartbeat', (details: unknown) => void all.push(details));
  const beat = () => once(environment, 'heartbeat');
  await environment.run(() => attended({ heartbeatMs }, (attendance) => work(attendance, beat)));
  return all;
}

it('sends heartbeats while the work is silent, with the latest details', async () => {
  const details = await heard(async ({ progress }, beat) => {
    await beat();
    progress('half');
    await beat();
    progress();
    await beat();
  });
  expect(details[0]).toBeUndefined();
  expect(details.at(-1)).toBe('half');
  expect(details.filter((each) => each === 'half').length).toBeGreaterThanOrEqual(4);
});

it('reports progress at once', async () => {
  const details = await heard(({ progress }) => Promise.resolve(progress('begun')), 60_000);
  expect(details).toEqual(['begun']);
});

it('sends no heartbeat after the work has failed', async () => {
  const environment = environmentOf();
  let beats = 0;
  environment.on('heartbeat', () => void (beats += 1));
  const failing = environment.run(() =>
    attended({ heartbeatMs: 1 }, async () => {
      await once(environment, 'heartbeat');
      throw new Error('broken');
    }),
  );
  await expect(failing).rejects.toThrow('broken');
  const before = beats;
  const other = environmentOf();
  await other.run(() => attended({ heartbeatMs: 1 }, async () => void (await once(other, 'heartbeat'))));
  expect(beats).toBe(before);
});

it.each(['the process is about to stop', 'the activity is canceled'])('ends when %s', async (why) => {
  const stopping = new AbortController();
  const environment = environmentOf({ attempt: 3 });
  const run = environment.run(() =>
    attended({ heartbeatMs: 60_000, stopping: stopping.signal }, async (attendance) => {
      if (why.startsWith('the process')) stopping.abort();
      else environment.cancel();
      await new Promise<void>((resolve) => {
        if (attendance.stopping.aborted) resolve();
        else attendance.stopping.addEventListener('abort', () => resolve(), { once: true });
      });
      return attendance.attempt;
    }),
  );
  expect(await run).toBe(3);
});
