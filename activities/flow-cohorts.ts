import type { AdvanceDeps } from '../src/features/flows/run/batch.ts';
import { createFlowCohorts } from '../src/features/flows/cohorts/cohorts.ts';
import type { FlowCohortActivities } from '../workflows/flows/contract.ts';
import { attended } from './attended.ts';
import { presentTime } from './present-time.ts';

const HEARTBEAT_MS = 3_000;

/**
 * The activities of the workflows `flow-cohort/<flow>/<n>`.
 * @param stopping aborted when the process is about to stop
 */
export function createFlowCohortActivities(
  deps: AdvanceDeps,
  stopping?: AbortSignal,
): Omit<FlowCohortActivities, 'callCohort'> {
  const cohorts = createFlowCohorts(deps);
  const long = { heartbeatMs: HEARTBEAT_MS, stopping };
  return {
    advanceCohort: (cohortId, asOf, stayMs) =>
      attended(long, ({ stopping: signal }) =>
        cohorts.advance(cohortId, { asOf: presentTime(asOf), stayMs, signal }),
      ),
    cancelCohort: (cohortId, asOf) => attended(long, () => cohorts.cancel(cohortId, presentTime(asOf))),
  };
}
