import { createFlowAudience } from '../src/features/flows/entry/audience.ts';
import type { Database } from '../src/platform/db/database.ts';
import type { HeavyReads } from '../src/platform/processes/heavy-reads.ts';
import type { Waker } from '../src/platform/db/wake.ts';
import type { FlowAudienceActivities } from '../workflows/flows/contract.ts';
import { presentTime } from './present-time.ts';
import { accountOf, createTurns } from './turns.ts';

/** Number of flows whose audiences one process compares concurrently: fewer than the connections for heavy reads. */
const LIMITS = { slots: 3, perKey: 2 };

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
  const inTurn = createTurns(LIMITS, stopping);
  return {
    async matchAudience(flowId, asOf, stayMs) {
      const accountId = await accountOf(database.pool, 'flows', flowId);
      return inTurn(accountId, ({ stopping: signal }) =>
        audience.match(flowId, presentTime(asOf), { forMs: stayMs, signal }),
      );
    },
  };
}
