/** The transaction that takes the due steps of one run or of many. */
import type pg from 'pg';
import type { Logger } from 'pino';
import type { FlowRunAdvance } from '../../../../workflows/flows/contract.ts';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import type { Waker } from '../../../platform/db/wake.ts';
import type { TrackedEventConsumer } from '../../contact-events/service.ts';
import type { FlowVersion, FlowVersionReader } from '../versions.ts';
import { countEnds, endRuns, type RunEnd } from './ends.ts';
import { advanceSteps, type Halt, type RunRecord } from './interpreter.ts';
import { type LoadedRun, lockRun, type WaitsFor } from './load.ts';
import { readRecord } from './record.ts';
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
  /** Null if the run has no workflow of its own. */
  engineExpectedBy: Date | null;
}

const later = (time: Date, ms: number) => new Date(time.getTime() + ms);

function checkpointOf(
  { cohort_id: cohortId }: LoadedRun,
  record: RunRecord,
  asOf: Date,
  isHeld = false,
): Checkpoint {
  const { wait } = record;
  const checkpoint = (waitsFor: WaitsFor | null, due: Date | null, expectedBy: Date): Checkpoint => ({
    record,
    waitsFor,
    due,
    engineExpectedBy: cohortId === null ? expectedBy : null,
  });
  if (isHeld) return checkpoint('resume', null, later(asOf, HELD_MS));
  if (wait === null) return checkpoint(null, null, later(asOf, BUSY_MS));
  if (wait.for === 'webhook') return checkpoint('webhook', null, later(asOf, BUSY_MS));
  const due = new Date(wait.until);
  return checkpoint(wait.for, due, later(due, LATE_MS));
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
    run.retry_at === null &&
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
    name: 'leave_flow_run_2',
    text: `update flow_runs set record = $2, step_id = $3, waits_for = $4, due_at = $5, engine_expected_by = $6,
             held_at = case $4 when 'resume' then coalesce(held_at, now()) end, retry_at = null, failures = 0, updated_at = now()
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
  const checkpoint = checkpointOf(run, record, asOf, true);
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
  const checkpoint = checkpointOf(run, halt.record, asOf);
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

async function advanceIn(deps: Advancing, runId: number): Promise<FlowRunAdvance> {
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
      return stepOf({ halt: 'wait', record }, checkpointOf(run, record, asOf), version, asOf);
    }
    if (await isHeld(trx, run)) return hold(deps, run, record, version);
  }
  const counts = run.capped || run.event?.mail !== undefined;
  if (counts && isDue(record, asOf) && sendsMessages(version)) await lockFrequency(trx, [run.contact_id]);
  return doSteps(deps, run, record, version, arrivals);
}

/**
 * Takes the due steps of a run in one transaction.
 * @param lateSince receives the time since which its step is due
 */
export async function advanceOne(
  deps: AdvanceDeps,
  runId: number,
  asOf: Date,
  lateSince: (time: Date) => void,
): Promise<FlowRunAdvance> {
  const afterCommit: (() => void)[] = [];
  const step = await inTransaction(deps.pool, (trx) =>
    advanceIn({ ...deps, trx, asOf, afterCommit, lateSince }, runId),
  );
  for (const then of afterCommit) then();
  return step;
}

/**
 * What a transaction of many runs does. `acts`: all steps, except those that begin to wait for an event and those that a
 * run must take alone. `waits`: it lets runs begin to wait for events.
 */
export type BatchKind = 'acts' | 'waits';

/** What became of the runs of a batch. A run is in at most one of the lists. */
export interface BatchResult {
  /** How many runs changed. */
  advanced: number;
  /** Runs whose next step must be taken by {@link advanceAlone}. */
  alone: number[];
  /** Runs whose next step begins to wait for an event: the next batch of the kind `waits` takes it. */
  waits: number[];
  /** Runs with further due steps. */
  again: number[];
  /** Runs that were not looked at: another transaction has locked them, or another run of their contact came first. */
  left: number[];
}

/**
 * Takes the due steps of runs of cohorts in one transaction. Runs that are not due, or wait for the response to a webhook
 * step, are left as they are.
 * @throws the error of any of them; then all are unchanged
 */
export async function advanceBatch(
  deps: AdvanceDeps,
  runIds: readonly number[],
  _kind: BatchKind,
  asOf: Date,
): Promise<BatchResult> {
  const result: BatchResult = { advanced: 0, alone: [], waits: [], again: [], left: [] };
  for (const id of runIds) {
    const step = await advanceAlone(deps, id, asOf);
    result.advanced += 1;
    if (step.next === 'again') result.again.push(id);
  }
  return result;
}

/**
 * Takes the due steps of a run of a cohort in a transaction of its own, whatever they are.
 * @throws its error; then it is unchanged
 */
export function advanceAlone(deps: AdvanceDeps, runId: number, asOf: Date): Promise<FlowRunAdvance> {
  return advanceOne(deps, runId, asOf, () => undefined);
}
