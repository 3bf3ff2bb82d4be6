import type { Logger } from 'pino';
import type { Waker } from '../../platform/db/wake.ts';
import { repeat } from '../../platform/processes/repeat.ts';
import { type DecisionDeps, decideFetches, forgetFetches } from './decisions.ts';
import { type ProbeDeps, probeTrackingHosts } from './probe.ts';

const DECISIONS_PAUSE_MS = 1_000;
const PROBES_PAUSE_MS = 10_000;

/**
 * Decides opens and clicks every second, and probes tracking hosts. Any number of processes may run this.
 * @returns a function that stops it
 */
export function startTracking(deps: DecisionDeps & ProbeDeps & { waker: Waker; log: Logger }) {
  const { pool, waker, log } = deps;
  const decisions = repeat(
    async () => {
      const asOf = new Date();
      const { fetches, queued, refused } = await decideFetches(deps, asOf);
      for (const { messageId, error } of refused) {
        log.error({ err: error, message_id: messageId }, 'an open or click was given up');
      }
      for (const channel of queued.keys()) waker.wake(channel);
      const more = await forgetFetches(pool, asOf);
      return fetches > 0 || more ? 0 : DECISIONS_PAUSE_MS;
    },
    { log, name: 'deciding opens and clicks' },
  );
  const probes = repeat(
    async () => ((await probeTrackingHosts(deps, new Date())) > 0 ? 0 : PROBES_PAUSE_MS),
    { log, name: 'probing tracking hosts' },
  );
  return { stop: () => Promise.all([decisions.stop(), probes.stop()]) };
}
