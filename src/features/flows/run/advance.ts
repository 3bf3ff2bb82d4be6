/** The transaction of a run, which takes all steps that are due. */
import type pg from 'pg';
import type { Logger } from 'pino';
import type { FlowRunAdvance, FlowRunStep } from '../../../../workflows/flows/contract.ts';
import { AppError } from '../../../errors.ts';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import type { Waker } from '../../../platform/db/wake.ts';
import { isStatementTimeout } from '../../../platform/db/statement-limit.ts';
import type { TrackedEventConsumer } from '../../contact-events/service.ts';
import { type FlowVersion, FlowVersionMissingError, type FlowVersionReader } from '../versions.ts';
import { countEnds, endRuns, type RunEnd } from './ends.ts';
import { advanceSteps, type Halt, type RunRecord } from './interpreter.ts';
import { type LoadedRun, lockRun, type WaitsFor } from './load.ts';
import { NewerRecordError, readRecord } from './record.ts';
import { type FlowSender, lockFrequency } from './send.ts';
import { activeState, endedState } from './sentence.ts';
import { type Arrival, GOAL_STEP, readArrivals } from './waits.ts';
import { awaitsEvents, createRunContext, type Effects, sendsMessages } from './run-context.ts';

export interface AdvanceDeps {
  pool: pg.Pool;
  versions: FlowVersionReader;
  send: FlowSender;
  /** The consumers of events that runs track. */
  consumers: readonly TrackedEventConsumer[];
  waker: Pick<Waker, 'wake'>;
  log: Logger;
  /** How long a transaction may take further steps, in ms; for tests. */
  stepsMs?: number;
}

/** How late the workflow of a waiting run may be before the reconciler checks it, in ms. */
const LATE_MS = 600_000;
/** The same for a run that is working. The attempts of a webhook step take up to 37 minutes. */
const BUSY_MS = 3_600_000;
/** The same for a run that is held. The resume of the flow starts its workflow. */
const HELD_MS = 31 * 86_400_000;

/** What a transaction stores of a run when it leaves it. */
interface Checkpoint {
  record: RunRecord;
  waitsFor: WaitsFor | null;
  due: Date | null;
  engineExpectedBy: Date;
}

/**
 * A run that cannot continue now tries again after as long as it is late already, but at least and at most after these
 * times.
 */
const MIN_RETRY_MS = 15_000;
const MAX_RETRY_MS = 600_000;

const later = (time: Date, ms: number) => new Date(time.getTime() + ms);

function checkpointOf(record: RunRecord, asOf: Date, isHeld = false): Checkpoint {
  const { wait } = record;
  if (isHeld) return { record, waitsFor: 'resume', due: null, engineExpectedBy: later(asOf, HELD_MS) };
  if (wait === null) return { record, waitsFor: null, due: null, engineExpectedBy: later(asOf, BUSY_MS) };
  if (wait.for === 'webhook') {
    return { record, waitsFor: 'webhook', due: null, engineExpectedBy: later(asOf, BUSY_MS) };
  }
  const due = new Date(wait.until);
  return { record, waitsFor: wait.for, due, engineExpectedBy: later(due, LATE_MS) };
}

const isSameTime = (one: Date | null, other: Date | null) => one?.getTime() === other?.getTime();

/** Whether there is nothing to write, because the transaction found nothing to do. */
function isUnchanged(
  run: LoadedRun,
  before: RunRecord,
  checkpoint: Checkpoint,
  effects: Effects | null,
): boolean {
  return (
    run.waits_for === checkpoint.waitsFor &&
    isSameTime(run.due_at, checkpoint.due) &&
    isSameTime(run.engine_expected_by, checkpoint.engineExpectedBy) &&
    JSON.stringify(before) === JSON.stringify(checkpoint.record) &&
    (effects === null || effects.judged.length + effects.ended.length === 0)
  );
}

/** Ends waits, and deletes events that have been judged, except those of the goal. */
async function forgetWaits(trx: Queryable, { id }: LoadedRun, { judged, ended }: Effects): Promise<void> {
  if (judged.length + ended.length === 0) return;
  await trx.query({
    name: 'forget_flow_waits',
    text: `
      with ended as (delete from flow_waits where run_id = $1 and step_id = any($2))
      delete from flow_arrivals
      where run_id = $1 and step_id <> ${GOAL_STEP} and (event_id = any($3) or step_id = any($2))`,
    values: [id, ended, judged],
  });
}

/** Stores the checkpoint of an active run. */
async function leave(
  trx: Queryable,
  { id }: LoadedRun,
  { record, waitsFor, due, engineExpectedBy }: Checkpoint,
): Promise<void> {
  await trx.query({
    name: 'leave_flow_run',
    text: `update flow_runs set record = $2, step_id = $3, waits_for = $4, due_at = $5, engine_expected_by = $6,
             held_at = case $4 when 'resume' then coalesce(held_at, now()) end, updated_at = now()
           where id = $1`,
    values: [id, JSON.stringify(record), record.stepId, waitsFor, due, engineExpectedBy],
  });
}

/** Ends a run at one of its steps. */
async function finishRun(
  trx: Queryable,
  run: LoadedRun,
  version: FlowVersion,
  { record, state, reason }: Halt & { halt: 'end' },
  asOf: Date,
): Promise<void> {
  await trx.query({
    name: 'finish_flow_run',
    text: `update flow_runs set state = $2, reason = $3, record = $4, step_id = null, waits_for = null, due_at = null,
             engine_expected_by = null, ended_at = $5, updated_at = now()
           where id = $1`,
    values: [run.id, state, reason, JSON.stringify(record), asOf],
  });
  if (awaitsEvents(version)) {
    await trx.query({
      name: 'end_flow_waits',
      text: `with waits as (delete from flow_waits where run_id = $1) delete from flow_arrivals where run_id = $1`,
      values: [run.id],
    });
  }
  await countEnds(trx, [run], { state, reason });
}

/** Why an active run ends without another step; null if it does not. */
function endOf(run: LoadedRun, arrivals: readonly Arrival[]): RunEnd | null {
  if (!run.contact_exists) return { state: 'exited', reason: 'contact_deleted' };
  if (run.flow_status === 'archived') return { state: 'canceled', reason: 'archived' };
  if (arrivals.some(({ stepId }) => stepId === GOAL_STEP)) return { state: 'exited', reason: 'goal' };
  return null;
}

/** Whether the step of a run is due by time. Events that arrive while the flow is paused wait for the resume. */
function isDue({ wait }: RunRecord, asOf: Date): boolean {
  return wait === null || wait.for === 'webhook' || new Date(wait.until) <= asOf;
}

/**
 * Whether a run must wait before its step because its flow is paused. The flow is read again under a lock: either a
 * resume finds this run held, or this transaction sees the resume.
 */
async function isHeld(trx: Queryable, run: LoadedRun): Promise<boolean> {
  if (run.flow_status === 'active') return false;
  const { rows } = await trx.query<{ status: string }>('select status from flows where id = $1 for share', [
    run.flow_id,
  ]);
  return rows[0]?.status !== 'active';
}

function stepOf(
  halt: Exclude<Halt, { halt: 'end' }>,
  checkpoint: Checkpoint,
  version: FlowVersion,
  asOf: Date,
): FlowRunAdvance {
  const state = activeState(checkpoint.waitsFor, checkpoint.record, version.steps, asOf);
  switch (halt.halt) {
    case 'again':
      return { state, next: 'again' };
    case 'call':
      return { state, next: 'call', stepId: halt.stepId };
    case 'wait':
      return { state, next: 'wait', until: checkpoint.due?.toISOString() ?? null };
  }
}

interface Advancing extends Omit<AdvanceDeps, 'pool'> {
  trx: Queryable;
  asOf: Date;
  afterCommit: (() => void)[];
  /** Receives the time since which the run's step is due. */
  lateSince: (time: Date) => void;
}

async function hold({ trx, asOf }: Advancing, run: LoadedRun, record: RunRecord, version: FlowVersion) {
  const checkpoint = checkpointOf(record, asOf, true);
  if (!isUnchanged(run, record, checkpoint, null)) await leave(trx, run, checkpoint);
  return stepOf({ halt: 'wait', record }, checkpoint, version, asOf);
}

/** Takes the due steps of a locked, active run. */
async function doSteps(
  deps: Advancing,
  run: LoadedRun,
  record: RunRecord,
  version: FlowVersion,
  arrivals: readonly Arrival[],
): Promise<FlowRunAdvance> {
  const { trx, asOf, waker } = deps;
  const { context, effects } = createRunContext({
    ...deps,
    run,
    version,
    record,
    arrivals,
    wakeSenders: (backlog) => waker.wake('send', [backlog]),
  });
  const halt = await advanceSteps(version.steps, record, context);
  await effects.writePath();
  if (halt.halt === 'end') {
    await finishRun(trx, run, version, halt, asOf);
    return { next: 'done', state: endedState(halt, halt.record.steps) };
  }
  const checkpoint = checkpointOf(halt.record, asOf);
  if (!isUnchanged(run, record, checkpoint, effects)) {
    await forgetWaits(trx, run, effects);
    await leave(trx, run, checkpoint);
  }
  return stepOf(halt, checkpoint, version, asOf);
}

const gone: FlowRunAdvance = {
  next: 'done',
  state: endedState({ state: 'canceled', reason: 'deleted' }, 0),
};

async function advanceIn(deps: Advancing, runId: number): Promise<FlowRunStep> {
  const { trx, asOf, versions } = deps;
  const run = await lockRun(trx, runId);
  if (!run) return gone;
  deps.lateSince(run.due_at ?? run.updated_at);
  if (run.state !== 'active') {
    // The record is emptied after its retention period.
    const { steps = 0 } = run.record as Partial<RunRecord>;
    return { next: 'done', state: endedState({ state: run.state, reason: run.reason }, steps) };
  }
  const version = await versions(run.version_id, trx);
  // Read without a lock: an event that arrives later wakes the run again.
  const arrivals = awaitsEvents(version) ? await readArrivals(trx, run.id) : [];
  const record = readRecord(run.record);
  const end = endOf(run, arrivals);
  if (end) {
    await endRuns(trx, [run.id], end, { asOf, priority: null });
    return { next: 'done', state: endedState(end, record.steps) };
  }
  if (run.flow_status !== 'active') {
    if (!isDue(record, asOf)) {
      return stepOf({ halt: 'wait', record }, checkpointOf(record, asOf), version, asOf);
    }
    if (await isHeld(trx, run)) return hold(deps, run, record, version);
  }
  const counts = run.capped || run.event?.mail !== undefined;
  if (counts && isDue(record, asOf) && sendsMessages(version)) await lockFrequency(trx, run.contact_id);
  return doSteps(deps, run, record, version, arrivals);
}

/** Ends a run whose step can never be taken, because its version and the filters in it never change. */
async function endBroken({ pool, log }: AdvanceDeps, runId: number, asOf: Date, error: unknown) {
  log.warn({ err: error, flow_run_id: runId }, 'flow run ended: its step cannot be taken');
  const end = { state: 'exited', reason: 'error' } as const;
  await inTransaction(pool, async (trx) => {
    // Only versions that know every kind of filter may end a run so.
    await trx.query(`select set_config('carillon.filters', 'compared', true)`);
    await endRuns(trx, [runId], end, { asOf, priority: null });
  });
  return { next: 'done' as const, state: endedState(end, 0) };
}

/** Postpones a run whose transaction was rolled back. @param sentence the reason, for an operator */
function putOff(lateSince: Date, asOf: Date, sentence: string): FlowRunStep {
  const lateMs = asOf.getTime() - lateSince.getTime();
  const until = later(asOf, Math.min(MAX_RETRY_MS, Math.max(MIN_RETRY_MS, lateMs)));
  return { next: 'later', until: until.toISOString(), sentence };
}

/** Whether a run can never continue after the error. */
function isFinal(error: unknown): boolean {
  if (error instanceof FlowVersionMissingError) return true;
  // Filters that cannot be evaluated, such as those that have become too many.
  return error instanceof AppError && error.code === 'validation_error';
}

/** Why a run cannot continue now, for an operator; null if the error has another cause. */
function reasonToWait(error: unknown): string | null {
  if (isStatementTimeout(error)) return 'tries again soon, because its step or its filters took too long';
  if (error instanceof NewerRecordError)
    return 'waits for a worker of the newer version that stored its position';
  return null;
}

/**
 * Takes the due steps of a run in one transaction, up to the next wait, webhook call or end. A concurrent call waits
 * for the row, and then finds nothing to do.
 * @param asOf the workflow's time
 * @returns `later`, without any change, if a statement took too long or a newer version of the service has stored the
 *   run
 */
export async function advanceRun(deps: AdvanceDeps, runId: number, asOf: Date): Promise<FlowRunStep> {
  const afterCommit: (() => void)[] = [];
  let since = asOf;
  const lateSince = (time: Date) => void (since = time);
  try {
    const step = await inTransaction(deps.pool, (trx) =>
      advanceIn({ ...deps, trx, asOf, afterCommit, lateSince }, runId),
    );
    for (const then of afterCommit) then();
    return step;
  } catch (error) {
    if (isFinal(error)) return endBroken(deps, runId, asOf, error);
    const reason = reasonToWait(error);
    if (reason === null) throw error;
    deps.log.warn({ err: error, flow_run_id: runId }, 'flow run postponed');
    return putOff(since, asOf, reason);
  }
}
