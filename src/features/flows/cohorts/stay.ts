/** One stay of the workflow with its cohort: takes what is due, and decides when to come back. */
import type { FlowCohortStep } from '../../../../workflows/flows/contract.ts';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import { dueRuns } from './due.ts';
import type { LoadedCohort } from './load.ts';
import { loadCohort } from './load.ts';
import { OPEN_MS } from './places.ts';
import { type CohortSummary, summarize } from './state.ts';
import { takeDue, type TakingDeps } from './take.ts';

/** How late the workflow may be before the reconciler checks that it runs, in ms. */
const LATE_MS = 600_000;
/** The same if it waits only for a signal. */
const IDLE_MS = 31 * 86_400_000;
/** The time at which the workflow is expected is stored if it has moved by more than this, in ms. */
const MOVED_MS = 60_000;
/** When the workflow comes back if others have locked runs that are due, in ms. */
const LOCKED_MS = 1_000;

const later = (time: Date, ms: number) => new Date(time.getTime() + ms);

/** Shown when a cohort is gone. */
const gone: FlowCohortStep = {
  ...{ next: 'done', until: null, callsDue: false },
  state: { sentence: 'the flow has been deleted', runs: 0, ended: 0, groups: [] },
};

/**
 * Ends a cohort without active runs, if it takes no more. An entry either comes before, and its runs are seen here, or
 * finds the cohort closed.
 */
async function endCohort(deps: TakingDeps, { id }: LoadedCohort, asOf: Date): Promise<boolean> {
  return inTransaction(deps.pool, async (trx) => {
    await trx.query('select from flow_cohorts where id = $1 for no key update', [id]);
    const { rowCount } = await trx.query(
      `update flow_cohorts
       set closed_at = coalesce(closed_at, $2), ended_at = coalesce(ended_at, $2), engine_expected_by = null
       where id = $1 and (closed_at is not null or created_at <= $3)
         and not exists (select 1 from flow_runs where cohort_id = $1 and state = 'active')`,
      [id, asOf, later(asOf, -OPEN_MS)],
    );
    return rowCount === 1;
  });
}

/** Stores by when the workflow will have come back. */
async function expect(db: Queryable, cohort: LoadedCohort, by: Date): Promise<void> {
  const { id, engine_expected_by: before } = cohort;
  if (before !== null && Math.abs(before.getTime() - by.getTime()) <= MOVED_MS) return;
  await db.query({
    name: 'expect_flow_cohort',
    text: 'update flow_cohorts set engine_expected_by = $2 where id = $1 and ended_at is null',
    values: [id, by],
  });
}

/** When the workflow comes back; null: when it is signaled. @param isDue whether a run is due still */
function returnAt(
  cohort: LoadedCohort,
  { active, next }: CohortSummary,
  { asOf, isDue }: { asOf: Date; isDue: boolean },
): Date | null {
  if (isDue) return later(asOf, LOCKED_MS);
  if (next !== null) return next > asOf ? next : later(asOf, LOCKED_MS);
  // Its hour is over then.
  return active === 0 ? later(cohort.created_at, OPEN_MS) : null;
}

/** Decides what follows a stay. @param wasOver whether its time was over, so that more may be due */
async function conclude(
  deps: TakingDeps,
  cohortId: number,
  { asOf, wasOver }: { asOf: Date; wasOver: boolean },
): Promise<FlowCohortStep> {
  const cohort = await loadCohort(deps.pool, cohortId);
  if (!cohort) return gone;
  const summary = await summarize(deps.pool, cohort, asOf);
  const { active, next, callsDue, state } = summary;
  if (active === 0 && (await endCohort(deps, cohort, asOf))) {
    return { next: 'done', until: null, callsDue: false, state };
  }
  // A run whose event has arrived may be locked, and no time of its row says that it is due.
  const left = await dueRuns(deps.pool, cohort, { asOf, limit: 1, except: [] });
  const until = returnAt(cohort, summary, { asOf, isDue: left.length > 0 });
  // Requests of webhook steps take a minute at most, and the workflow comes back after them.
  const back = until ?? (callsDue ? asOf : null);
  await expect(deps.pool, cohort, back === null ? later(asOf, IDLE_MS) : later(back, LATE_MS));
  const isMore = wasOver && next !== null && next <= asOf;
  return { next: isMore ? 'again' : 'wait', until: until?.toISOString() ?? null, callsDue, state };
}

/**
 * Takes the due steps of a cohort's runs, until no run is due or the time is over.
 * @param isOver whether the time is over
 */
export async function stay(
  deps: TakingDeps,
  cohortId: number,
  { asOf, isOver }: { asOf: Date; isOver: () => boolean },
): Promise<FlowCohortStep> {
  const cohort = await loadCohort(deps.pool, cohortId);
  if (!cohort) return gone;
  const wasOver = await takeDue(deps, { cohort, asOf, isOver });
  return conclude(deps, cohortId, { asOf, wasOver });
}
