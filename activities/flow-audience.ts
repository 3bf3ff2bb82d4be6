import { createFlowAudience } from '../src/features/flows/entry/audience.ts';
import type { Database } from '../src/platform/db/database.ts';
import type { HeavyReads } from '../src/platform/db/heavy-reads.ts';
import type { Waker } from '../src/platform/db/wake.ts';
import type { FlowAudienceActivities } from '../workflows/flows/contract.ts';
import { createTurns } from './turns.ts';

/** Flows whose audience one process compares at the same time: fewer than there are connections for heavy reads. */
const MAX_AT_ONCE = 3;

export interface FlowAudienceActivityDependencies {
  database: Database;
  heavyReads: HeavyReads;
  waker: Pick<Waker, 'wake'>;
  /** Aborted when the process is about to stop. */
  stopping: AbortSignal;
}

/** The activity of the workflow `flow-audience/<id>`. */
export function createFlowAudienceActivities(deps: FlowAudienceActivityDependencies): FlowAudienceActivities {
  const { database, heavyReads, waker, stopping } = deps;
  const audience = createFlowAudience({ pool: database.pool, heavyReads, waker });
  const inTurn = createTurns(MAX_AT_ONCE, stopping);
  return {
    matchAudience: (flowId, asOf, stayMs) =>
      inTurn(({ stopping: signal }) => audience.match(flowId, new Date(asOf), { forMs: stayMs, signal })),
  };
}
