import type pg from 'pg';
import type { Logger } from 'pino';
import type { StopThresholds } from '../../delivery/limits/stop-thresholds.ts';
import type { Waker } from '../../platform/db/wake.ts';
import type { EventPublisher } from '../../platform/events/publish.ts';
import { repeat, type Repeating } from '../../platform/processes/repeat.ts';
import { brakeFlows } from './brakes.ts';
import { foldFlowCounts } from './counts.ts';

const PAUSE_MS = 1_000;

export interface FlowCountsDeps {
  pool: pg.Pool;
  events: EventPublisher;
  waker: Pick<Waker, 'wake'>;
  thresholds: StopThresholds;
  log: Logger;
}

/** Every second, folds the counts of flows and pauses flows whose rates are too high. Any process may run this. */
export function startFlowCounts(deps: FlowCountsDeps): Repeating {
  const { pool, waker, thresholds, log } = deps;
  return repeat(
    async () => {
      if (await foldFlowCounts(pool)) return 0;
      const braked = await brakeFlows(deps, thresholds, new Date(), (work) => {
        for (const channel of work.keys()) waker.wake(channel);
      });
      for (const { flowId: flow_id, reason, rate } of braked)
        log.warn({ flow_id, reason, rate }, 'flow paused');
      return PAUSE_MS;
    },
    { log, name: 'counting what flows did' },
  );
}
