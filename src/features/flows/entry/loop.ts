import type pg from 'pg';
import type { Logger } from 'pino';
import type { Waker } from '../../../platform/db/wake.ts';
import { type Repeating, repeat } from '../../../platform/processes/repeat.ts';
import { ENTRIES_CHANNEL } from './entries.ts';
import { fillFlow } from './list-backfill.ts';
import { flowsWithEntries, judgePage } from './pages.ts';
import { createFlowScheduler, type FlowScheduler } from './flow-scheduler.ts';

const POLL_MS = 1_000;
/**
 * Number of workers, each of which judges one flow at a time. One of them leaves out slow flows, so that these cannot
 * occupy all.
 */
const WORKERS = 3;

export interface FlowEntriesDeps {
  pool: pg.Pool;
  waker: Waker;
  log: Logger;
  /** Pause between two polls in ms, unless woken; 1,000 by default. */
  pollMs?: number;
  clock?: () => Date;
}

/** Judges pages of entries, one flow after the other. */
function startWorker(deps: FlowEntriesDeps, scheduler: FlowScheduler, onlyQuick: boolean): Repeating {
  const { pollMs = POLL_MS } = deps;
  const work = async () => {
    const flowId = await scheduler.take(onlyQuick);
    if (flowId === null) return pollMs;
    const startedAt = performance.now();
    let restMs = 0;
    try {
      const { busy, began } = await judgePage(deps, flowId);
      if (began) deps.waker.wake('outbox');
      if (busy) restMs = pollMs;
    } finally {
      scheduler.release(flowId, performance.now() - startedAt, restMs);
    }
    return 0;
  };
  return repeat(work, { log: deps.log, name: 'judging entries into flows' });
}

/**
 * Judges entries soon after they are committed, and starts runs. It also lets current members of lists enter. Any
 * number of processes may run this.
 */
export function startFlowEntries(deps: FlowEntriesDeps): { stop(): Promise<void> } {
  const { pollMs = POLL_MS } = deps;
  const scheduler = createFlowScheduler(() => flowsWithEntries(deps.pool));
  const workers = Array.from({ length: WORKERS }, (_, n) => startWorker(deps, scheduler, n === 0));
  const wake = () => workers.forEach((worker) => worker.wake());
  const filling = repeat(
    async () => {
      if (!(await fillFlow(deps.pool))) return pollMs;
      wake();
      return 0;
    },
    { log: deps.log, name: 'letting members of lists into flows' },
  );
  const unlisten = deps.waker.listen(ENTRIES_CHANNEL, wake);
  return {
    async stop() {
      unlisten();
      await Promise.all([...workers, filling].map((worker) => worker.stop()));
    },
  };
}
