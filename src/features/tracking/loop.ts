import type { Logger } from 'pino';
import type { Waker } from '../../platform/db/wake.ts';
import type { Pulse } from '../../platform/processes/pulse.ts';
import { repeat } from '../../platform/processes/repeat.ts';
import { type DecisionDeps, decideFetches, fetchesWaitSql, forgetFetches } from './decisions.ts';
import { type ProbeDeps, probeTrackingHosts } from './probe.ts';

const PROBES_PAUSE_MS = 10_000;

/**
 * Decides opens and clicks within a second, and probes tracking hosts. Any number of processes may run this.
 * @returns a function that stops it
 */
export function startTracking(deps: DecisionDeps & ProbeDeps & { waker: Waker; pulse: Pulse; log: Logger }) {
  const { pool, waker, pulse, log } = deps;
  const decisions = pulse.repeat({ name: 'deciding opens and clicks', waiting: fetchesWaitSql }, async () => {
    const asOf = new Date();
    const { fetches, queued, refused } = await decideFetches(deps, asOf);
    for (const { messageId, error } of refused) {
      log.error({ err: error, message_id: messageId }, 'an open or click was given up');
    }
    for (const channel of queued.keys()) waker.wake(channel);
    const more = await forgetFetches(pool, asOf);
    return fetches > 0 || more;
  });
  const probes = repeat(
    async () => ((await probeTrackingHosts(deps, new Date())) > 0 ? 0 : PROBES_PAUSE_MS),
    { log, name: 'probing tracking hosts' },
  );
  return { stop: () => Promise.all([decisions.stop(), probes.stop()]) };
}
