/** Takes the due steps of a cohort's runs, many of them in each transaction. A run that fails holds up no other. */
import { isConnectionError } from '../../../platform/db/queryable.ts';
import { type AdvanceDeps, advanceAlone, advanceBatch } from '../run/batch.ts';
import { endBroken, isFinal } from '../run/failures.ts';
import { dueRuns } from './due.ts';
import type { LoadedCohort } from './load.ts';
import { postponeRun } from './postpone.ts';

/** Maximum number of runs of one transaction. */
const MAX_BATCH = 200;
/** After a failure, transactions are this many times smaller; after each success, they are twice as large. */
const SHRINK = 4;

export interface TakingDeps extends AdvanceDeps {
  /** How many runs a cohort's next transaction takes, by its id; those that are not there take the maximum. */
  sizes: Map<number, number>;
}

interface Taking {
  cohort: LoadedCohort;
  asOf: Date;
  /** Whether no further transaction may begin. */
  isOver: () => boolean;
}

/** Ends a run whose step can never be taken; lets any other try again later. @throws if the database is unavailable */
async function settleFailure(
  deps: TakingDeps,
  { cohort, asOf }: Taking,
  runId: number,
  error: unknown,
): Promise<void> {
  if (isConnectionError(error)) throw error;
  if (isFinal(error)) {
    await endBroken(deps, runId, asOf, error);
    return;
  }
  const postponed = await postponeRun(deps.pool, runId, asOf);
  const fields = { flow_run_id: runId, cohort_id: cohort.id, ...postponed };
  deps.log.warn({ err: error, ...fields }, 'flow run failed; will retry');
}

/** @returns whether the run has further due steps */
async function takeAlone(deps: TakingDeps, taking: Taking, runId: number): Promise<boolean> {
  try {
    return (await advanceAlone(deps, runId, taking.asOf)).next === 'again';
  } catch (error) {
    await settleFailure(deps, taking, runId, error);
    return false;
  }
}

/**
 * Takes the steps of runs, first those that can be taken together.
 * @returns the ids of the runs that may be due still, although no other transaction has locked them
 */
async function takeTogether(deps: TakingDeps, taking: Taking, ids: readonly number[]): Promise<number[]> {
  const { asOf, isOver } = taking;
  const acts = await advanceBatch(deps, ids, 'acts', asOf);
  // If nothing advanced, others have locked those that were left; the next stay tries them.
  const further = [...acts.again, ...(acts.advanced > 0 ? acts.left : [])];
  const waits = acts.waits.length > 0 ? await advanceBatch(deps, acts.waits, 'waits', asOf) : null;
  if (waits) further.push(...waits.again, ...waits.alone);
  for (const id of acts.alone) {
    if (isOver() || (await takeAlone(deps, taking, id))) further.push(id);
  }
  return further;
}

/** @returns the ids of the runs that may be due still */
async function take(deps: TakingDeps, taking: Taking, ids: readonly number[]): Promise<readonly number[]> {
  const { sizes, log } = deps;
  const { id } = taking.cohort;
  const size = sizes.get(id) ?? MAX_BATCH;
  const [first = 0] = ids;
  try {
    const further = await takeTogether(deps, taking, ids);
    if (size * 2 >= MAX_BATCH) sizes.delete(id);
    else sizes.set(id, size * 2);
    return further;
  } catch (error) {
    if (isConnectionError(error)) throw error;
    sizes.set(id, Math.max(1, Math.floor(ids.length / SHRINK)));
    if (ids.length > 1) {
      log.info({ err: error, cohort_id: id, runs: ids.length }, 'flow runs failed together; fewer are tried');
      return ids;
    }
    await settleFailure(deps, taking, first, error);
    return [];
  }
}

/**
 * Takes due steps until no run is due or the time is over.
 * @returns whether the time was over
 * @throws if the database is unavailable
 */
export async function takeDue(deps: TakingDeps, taking: Taking): Promise<boolean> {
  const { cohort, asOf, isOver } = taking;
  const taken = new Set<number>();
  while (!isOver()) {
    const limit = deps.sizes.get(cohort.id) ?? MAX_BATCH;
    const due = await dueRuns(deps.pool, cohort, { asOf, limit, except: [...taken] });
    if (due.length === 0) return false;
    const ids = due.map(({ id }) => id);
    const further = new Set(await take(deps, taking, ids));
    for (const id of ids) {
      if (!further.has(id)) taken.add(id);
    }
  }
  return true;
}
