import type pg from 'pg';
import type { Logger } from 'pino';
import type { Waker } from '../../../platform/db/wake.ts';
import type { Pulse } from '../../../platform/processes/pulse.ts';
import { type Repeating, repeat } from '../../../platform/processes/repeat.ts';
import { ENTRIES_CHANNEL } from './entries.ts';
import { fillFlow } from './list-backfill.ts';
import { entriesWaitSql, flowsWithEntries, judgePage } from './pages.ts';
import { createFlowScheduler, type FlowScheduler } from './flow-scheduler.ts';

/** How long a flow rests whose entries another process is judging, in ms. */
const REST_MS = 1_000;
/**
 * Number of workers, each of which judges one flow at a time. One of them leaves out slow flows, so that these cannot
 * occupy all.
 */
const WORKERS = 3;

export interface FlowEntriesDeps {
  pool: pg.Pool;
  waker: Waker;
  pulse: Pulse;
  log: Logger;
  clock?: () => Date;
}

/** Judges pages of entries, one flow after the other. */
function startWorker(deps: FlowEntriesDeps, scheduler: FlowScheduler, onlyQuick: boolean): Repeating {
  const work = async () => {
    const flowId = await scheduler.take(onlyQuick);
    if (flowId === null) return Infinity;
    const startedAt = performance.now();
    let restMs = 0;
    try {
      const { busy, began } = await judgePage(deps, flowId);
      if (began) deps.waker.wake('outbox');
      if (busy) restMs = REST_MS;
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
  const { pool, waker, pulse } = deps;
  const scheduler = createFlowScheduler(() => flowsWithEntries(pool));
  const workers = Array.from({ length: WORKERS }, (_, n) => startWorker(deps, scheduler, n === 0));
  const wake = () => workers.forEach((worker) => worker.wake());
  const fills = {
    name: 'letting members of lists into flows',
    waiting: 'exists (select from flow_fills)',
  };
  const filling = pulse.repeat(fills, async () => {
    const filled = await fillFlow(pool);
    if (filled) wake();
    return filled;
  });
  const unwatch = pulse.watch(entriesWaitSql, wake);
  const unlisten = waker.listen(ENTRIES_CHANNEL, wake);
  return {
    async stop() {
      unlisten();
      unwatch();
      await Promise.all([...workers, filling].map((worker) => worker.stop()));
    },
  };
}
