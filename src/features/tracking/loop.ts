import type { Logger } from 'pino';
import type { Waker } from '../../platform/db/wake.ts';
import { repeat, type Repeating } from '../../platform/processes/repeat.ts';
import { type DecisionDeps, decideFetches, forgetFetches } from './decisions.ts';

const PAUSE_MS = 1_000;

/** Decides who opened and clicked, each second. Any number of processes may run this. */
export function startDecisions(deps: DecisionDeps & { waker: Waker; log: Logger }): Repeating {
  const { pool, waker, log } = deps;
  return repeat(
    async () => {
      const asOf = new Date();
      const { fetches, queued } = await decideFetches(deps, asOf);
      for (const channel of queued.keys()) waker.wake(channel);
      const more = await forgetFetches(pool, asOf);
      return fetches > 0 || more ? 0 : PAUSE_MS;
    },
    { log, name: 'deciding opens and clicks' },
  );
}
