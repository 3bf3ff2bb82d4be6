/** What the workflows of cohorts and operators do with the runs of a cohort. */
import type { FlowCohortLater, FlowCohortStep } from '../../../../workflows/flows/contract.ts';
import { inTransaction } from '../../../platform/db/queryable.ts';
import type { AdvanceDeps } from '../run/batch.ts';
import { createAdvanceTurns } from '../run/advance-turns.ts';
import { endRuns } from '../run/ends.ts';
import { dueRuns } from './due.ts';
import { loadCohort } from './load.ts';
import { stay } from './stay.ts';

/**
 * Stays share few connections of the pool with single runs. A stay of another account always finds a slot, or gets one
 * after the next transaction.
 */
const LIMITS = { running: 4, ofAccount: 3, queuedMs: 2_000, minWaitMs: 1_000 };
/** How long a stay may go on while other accounts wait, in ms. */
const SHARED_MS = 250;
/** Number of runs that one transaction cancels. */
const CANCEL_PAGE = 200;

export interface FlowCohorts {
  /**
   * Takes the due steps of a cohort's runs when it is the account's turn, for up to `stayMs`. Within an account, the
   * cohort whose runs are due for longest comes first.
   */
  advance(
    cohortId: number,
    options: { asOf: Date; stayMs: number; signal?: AbortSignal | undefined },
  ): Promise<FlowCohortStep | FlowCohortLater>;
  /** Ends all active runs, on behalf of an operator. */
  cancel(cohortId: number, asOf: Date): Promise<void>;
}

export function createFlowCohorts(deps: AdvanceDeps): FlowCohorts {
  const turns = createAdvanceTurns(() => performance.now(), LIMITS);
  const taking = { ...deps, sizes: new Map<number, number>() };
  return {
    async advance(cohortId, { asOf, stayMs, signal }) {
      const cohort = await loadCohort(deps.pool, cohortId);
      const [first] = cohort ? await dueRuns(deps.pool, cohort, { asOf, limit: 1, except: [] }) : [];
      // What becomes due meanwhile waits for its turn.
      if (!cohort || !first) return stay(taking, cohortId, { asOf, isOver: () => true });
      const { account_id: accountId } = cohort;
      const inTurn = () => {
        const since = performance.now();
        const isOver = () => {
          const elapsed = performance.now() - since;
          const isShared = elapsed >= SHARED_MS && turns.isAwaited(accountId);
          return elapsed >= stayMs || isShared || signal?.aborted === true;
        };
        return stay(taking, cohortId, { asOf, isOver });
      };
      const turn = await turns.run(accountId, inTurn, first.since);
      if ('done' in turn) return turn.done;
      const until = new Date(asOf.getTime() + turn.laterMs).toISOString();
      return {
        next: 'later',
        until,
        sentence: 'waits for its turn, because other cohorts of the account are due',
      };
    },
    async cancel(cohortId, asOf) {
      const end = { state: 'canceled', reason: 'canceled' } as const;
      for (let n = CANCEL_PAGE; n === CANCEL_PAGE;) {
        n = await inTransaction(deps.pool, async (trx) => {
          const { rows } = await trx.query<{ id: number }>(
            `select id from flow_runs where cohort_id = $1 and state = 'active' order by id limit $2`,
            [cohortId, CANCEL_PAGE],
          );
          await endRuns(
            trx,
            rows.map(({ id }) => id),
            end,
            { asOf, priority: null },
          );
          return rows.length;
        });
      }
      deps.log.info({ cohort_id: cohortId }, 'runs of a cohort canceled by an operator');
    },
  };
}
