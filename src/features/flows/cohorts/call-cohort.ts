/** Makes the requests of webhook steps of a cohort's runs, several at once. */
import type { Logger } from 'pino';
import { inTransaction, isConnectionError } from '../../../platform/db/queryable.ts';
import type { Waker } from '../../../platform/db/wake.ts';
import { CallWaitsError, MAX_OF_COHORTS } from '../run/call-turns.ts';
import { type CallDeps, type Called, callRun } from '../run/calls.ts';
import { FlowVersionMissingError } from '../versions.ts';
import { type DueCall, dueCalls, postponeCalls, releaseCall } from './due-calls.ts';
import { postponeRun } from './postpone.ts';
import { wakeRuns } from './wakes.ts';

/** How long requests are begun, in ms. The last ones end within their own time limit. */
const STAY_MS = 60_000;
/** While requests are under way, other runs may come to their webhook steps. Time between two looks, in ms. */
const LOOK_MS = 1_000;
/** The clock is woken for the runs that have their response after at most this time, while others wait for theirs. */
const WAKE_MS = 2_000;

export interface CallCohortDeps extends CallDeps {
  waker: Pick<Waker, 'wake'>;
  log: Logger;
}

/** What a stay has done, as operators see it in the engine. */
export interface CallsMade {
  answered: number;
  failed: number;
  /** The reason of the latest attempt that failed or had to wait. */
  reason: string | null;
}

export interface CallStay {
  /** Aborted when no further request may begin. */
  stopping: AbortSignal;
  onProgress: (made: CallsMade) => void;
  /** For tests. */
  stayMs?: number;
  wakeMs?: number;
}

interface Calling {
  deps: CallCohortDeps;
  cohortId: number;
  /** The workflow's time. */
  now: () => Date;
  made: CallsMade;
  /** Ids of the runs whose requests are under way. */
  underWay: Set<number>;
  /** How many requests may be under way, as other requests of the account allow. */
  room: number;
  /** A run that has its response, but whose clock does not know. */
  unseen: DueCall | null;
  /** The first error that concerns more than one run. */
  error: Error | null;
  /** Ends the wait for the next change. */
  changed: () => void;
}

/** A request was not made. The cohort makes fewer at once; without any under way, all calls of the step come back later. */
async function wait(calling: Calling, run: DueCall, { message, delayMs, bring }: CallWaitsError) {
  const { deps, underWay, now, made } = calling;
  made.reason = message;
  calling.room = underWay.size - 1;
  if (calling.room > 0) return;
  const asOf = now();
  const until = new Date(asOf.getTime() + delayMs);
  const except = [...underWay].filter((id) => id !== run.id);
  bring((await postponeCalls(deps.pool, run, { asOf, until, except })) - 1);
  calling.room = MAX_OF_COHORTS;
}

/** Calls a run; `no_call` if the next transaction of the run decides what follows. */
async function call({ deps, now }: Calling, run: DueCall): Promise<Called> {
  if (!run.called) return 'no_call';
  try {
    return await callRun(deps, run, now);
  } catch (error) {
    if (error instanceof FlowVersionMissingError) return 'no_call';
    throw error;
  }
}

async function make(calling: Calling, run: DueCall): Promise<void> {
  const { deps, made, now } = calling;
  try {
    const called = await call(calling, run);
    if (typeof called === 'object') {
      made.failed += 1;
      made.reason = called.failed;
      return;
    }
    if (called === 'no_call') await releaseCall(deps.pool, run);
    made.answered += 1;
    calling.unseen = run;
  } catch (error) {
    if (error instanceof CallWaitsError) return await wait(calling, run, error);
    if (isConnectionError(error)) throw error;
    const postponed = await postponeRun(deps.pool, run.id, now());
    const fields = { flow_run_id: run.id, cohort_id: calling.cohortId, ...postponed };
    deps.log.warn({ err: error, ...fields }, 'webhook step failed; will retry');
  }
}

function begin(calling: Calling, run: DueCall): void {
  const { underWay } = calling;
  underWay.add(run.id);
  void make(calling, run)
    .catch((error: unknown) => void (calling.error ??= error as Error))
    .finally(() => {
      underWay.delete(run.id);
      calling.changed();
    });
}

/** Begins the calls that are due, as many as there is room for. */
async function look(calling: Calling): Promise<void> {
  const { deps, cohortId, now, underWay } = calling;
  const limit = calling.room - underWay.size;
  if (limit <= 0) return;
  try {
    const except = [...underWay];
    for (const run of await dueCalls(deps.pool, cohortId, { asOf: now(), limit, except }))
      begin(calling, run);
  } catch (error) {
    calling.error ??= error as Error;
  }
}

/** Wakes the clock for the runs that have their response. When the stay ends, its workflow looks at them itself. */
async function wakeClock(calling: Calling): Promise<void> {
  const { deps, unseen } = calling;
  if (unseen === null) return;
  calling.unseen = null;
  try {
    await inTransaction(deps.pool, (trx) => wakeRuns(trx, [unseen], 1));
    deps.waker.wake('outbox');
  } catch (error) {
    calling.error ??= error as Error;
  }
}

/** Until a request ends, or it is time to look for others. */
function nextChange(calling: Calling): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      calling.room = MAX_OF_COHORTS;
      resolve();
    }, LOOK_MS);
    calling.changed = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}

/**
 * Makes the requests of webhook steps that are due, for as long as some are, but for about a minute at most. Failed
 * requests, and those that must wait because too many are under way, become due later by their rows. A crash repeats
 * the requests under way, with the same `webhook-id`.
 * @param asOf the workflow's time
 * @throws if the database is unavailable, once no request is under way
 */
export async function callCohort(
  deps: CallCohortDeps,
  cohortId: number,
  asOf: Date,
  { stopping, onProgress, stayMs = STAY_MS, wakeMs = WAKE_MS }: CallStay,
): Promise<CallsMade> {
  const began = performance.now();
  const passedMs = () => performance.now() - began;
  const calling: Calling = {
    ...{ deps, cohortId, now: () => new Date(asOf.getTime() + passedMs()) },
    ...{ made: { answered: 0, failed: 0, reason: null }, underWay: new Set(), room: MAX_OF_COHORTS },
    ...{ unseen: null, error: null, changed: () => undefined },
  };
  let wakeAtMs = wakeMs;
  for (;;) {
    // Before the look, so that a request that ends during it is noticed.
    const change = nextChange(calling);
    if (!stopping.aborted && calling.error === null && passedMs() < stayMs) await look(calling);
    if (calling.underWay.size === 0) break;
    await change;
    onProgress(calling.made);
    if (passedMs() < wakeAtMs) continue;
    await wakeClock(calling);
    wakeAtMs = passedMs() + wakeMs;
  }
  calling.changed();
  if (calling.error !== null) throw calling.error;
  return calling.made;
}
