/** What the workflow of a run and operators do with runs. */
import type { FlowRunStep } from '../../../../workflows/flows/contract.ts';
import { inTransaction } from '../../../platform/db/queryable.ts';
import { callCohort, type CallsMade, type CallStay } from '../cohorts/call-cohort.ts';
import { type AdvanceDeps, advanceRun } from './advance.ts';
import { createAdvanceTurns } from './advance-turns.ts';
import { createCallTurns } from './call-turns.ts';
import { type CallDeps, callWebhook } from './calls.ts';
import { endRuns } from './ends.ts';

export interface FlowRuns {
  /** Takes the due steps in one transaction, when it is the account's turn. */
  advance(runId: number, asOf: Date, accountId: number): Promise<FlowRunStep>;
  /**
   * Makes the request of a webhook step.
   * @throws WebhookStepRetryError if it has failed and must be retried
   * @throws CallWaitsError if it must wait for others
   */
  callWebhook(runId: number, stepId: number, asOf: Date): Promise<void>;
  /**
   * Makes the due requests of a cohort's runs. They share the limits of all webhook steps.
   * @throws if the database is unavailable
   */
  callCohort(cohortId: number, asOf: Date, stay: CallStay): Promise<CallsMade>;
  /** Ends the run if it is active, on behalf of an operator. */
  cancel(runId: number, asOf: Date): Promise<void>;
}

export function createFlowRuns(deps: AdvanceDeps & Omit<CallDeps, 'turns'>): FlowRuns {
  const turns = createAdvanceTurns();
  const callDeps = { ...deps, turns: createCallTurns() };
  return {
    async advance(runId, asOf, accountId) {
      const turn = await turns.run(accountId, () => advanceRun(deps, runId, asOf));
      if ('done' in turn) return turn.done;
      const until = new Date(asOf.getTime() + turn.laterMs).toISOString();
      return { next: 'later', until, sentence: 'waits for its turn, because runs of the account take long' };
    },
    callWebhook: (runId, stepId, asOf) => callWebhook(callDeps, runId, stepId, asOf),
    callCohort: (cohortId, asOf, stay) => callCohort(callDeps, cohortId, asOf, stay),
    async cancel(runId, asOf) {
      const end = { state: 'canceled', reason: 'canceled' } as const;
      await inTransaction(deps.pool, (trx) => endRuns(trx, [runId], end, { asOf, priority: null }));
      deps.log.info({ run_id: runId }, 'flow run canceled by an operator');
    },
  };
}
