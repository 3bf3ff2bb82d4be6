import { setTimeout as sleep } from 'node:timers/promises';
import { median, rounded } from './machine.ts';

/**
 * Makes the runs one after another, and prints each to stderr when it ends.
 * @returns the runs, and `of`, which returns the median of one figure
 */
export async function repeatRuns<Run>(count: number, oneRun: () => Promise<Run>) {
  const runs: Run[] = [];
  for (let n = 0; n < count; n++) {
    runs.push(await oneRun());
    process.stderr.write(`run ${n + 1} of ${count}: ${JSON.stringify(runs.at(-1))}\n`);
  }
  const of = (pick: (run: Run) => number) => rounded(median(runs.map(pick)), 2);
  return { runs, of };
}

/**
 * Waits until the count is reached.
 * @throws Error if it is not reached after `limitMs`
 */
export async function untilCount(ask: () => Promise<number>, count: number, limitMs: number): Promise<void> {
  const end = performance.now() + limitMs;
  while ((await ask()) < count) {
    if (performance.now() > end) throw new Error(`only ${await ask()} of ${count} arrived`);
    await sleep(10);
  }
}
