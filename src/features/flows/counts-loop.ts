import type pg from 'pg';
import type { Logger } from 'pino';
import type { StopThresholds } from '../../delivery/ledger/limits/stop-thresholds.ts';
import type { Waker } from '../../platform/db/wake.ts';
import type { EventPublisher } from '../../platform/events/publish.ts';
import type { Pulse } from '../../platform/processes/pulse.ts';
import type { Repeating } from '../../platform/processes/repeat.ts';
import { brakeFlows } from './brakes.ts';
import { foldFlowCounts } from './counts.ts';

export interface FlowCountsDeps {
  pool: pg.Pool;
  events: EventPublisher;
  waker: Pick<Waker, 'wake'>;
  pulse: Pulse;
  thresholds: StopThresholds;
  log: Logger;
}

/** Within a second, folds the counts of flows and pauses flows whose rates are too high. Any process may run this. */
export function startFlowCounts(deps: FlowCountsDeps): Repeating {
  const { pool, waker, pulse, thresholds, log } = deps;
  const queue = {
    name: 'counting what flows did',
    waiting: `exists (select from flow_count_changes)
      or exists (select from flow_outcomes where unjudged)`,
  };
  return pulse.repeat(queue, async () => {
    if (await foldFlowCounts(pool)) return true;
    const braked = await brakeFlows(deps, thresholds, new Date(), (work) => {
      for (const channel of work.keys()) waker.wake(channel);
    });
    for (const { flowId: flow_id, reason, rate } of braked)
      log.warn({ flow_id, reason, rate }, 'flow paused');
    return false;
  });
}
