/** Takes the due steps of the locked runs of a transaction, and writes what became of them. */
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { Waker } from '../../../platform/db/wake.ts';
import type { TrackedEventConsumer } from '../../contact-events/service.ts';
import type { FlowVersionReader } from '../versions.ts';
import {
  type Checkpoint,
  checkpointOf,
  finishRuns,
  forgetWaits,
  groupByEnd,
  isUnchanged,
  leaveRuns,
} from './checkpoints.ts';
import { endRuns, type RunEnd } from './ends.ts';
import { Gathering } from './gathering.ts';
import { advanceSteps, type Halt, type RunRecord } from './interpreter.ts';
import type { LoadedRun } from './load.ts';
import { createPaths } from './path.ts';
import { type BatchTransaction, createQuestions, writeMessages } from './questions.ts';
import { readRecord } from './record.ts';
import {
  type ActiveRun,
  awaitsEvents,
  createRunContext,
  type Effects,
  sendsMessages,
  type TransactionKind,
} from './run-context.ts';
import { type FlowSender, lockFrequency } from './send.ts';
import { GOAL_STEP, readArrivals } from './waits.ts';

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

/** How long a transaction may take further steps before others have their turn, in ms. */
const MAX_STEPS_MS = 2_000;

/** What became of an active run. */
export type Outcome = ActiveRun &
  (
    | { end: RunEnd; last: RunRecord; isTaken: boolean }
    | {
        end: null;
        halt: Exclude<Halt, { halt: 'end' }>;
        checkpoint: Checkpoint;
        /** Null if the flow is paused. */
        effects: Effects | null;
        /** Whether the flow is paused and the run would have nothing to do anyway. */
        isIdle?: boolean;
      }
  );

/** A transaction, with the deps of {@link advanceLocked}. */
export interface Advancing extends Omit<AdvanceDeps, 'pool'> {
  trx: Queryable;
  asOf: Date;
  kind: TransactionKind;
  afterCommit: (() => void)[];
}

/** Why an active run ends without another step; null if it does not. */
function endOf({ run, arrivals }: ActiveRun): RunEnd | null {
  if (!run.contact_exists) return { state: 'exited', reason: 'contact_deleted' };
  if (run.flow_status === 'archived') return { state: 'canceled', reason: 'archived' };
  if (arrivals.some(({ stepId }) => stepId === GOAL_STEP)) return { state: 'exited', reason: 'goal' };
  return null;
}

/** Whether the step of a run is due by time. Events that arrive while the flow is paused wait for the resume. */
function isDue({ record: { wait } }: ActiveRun, asOf: Date): boolean {
  return wait === null || wait.for === 'webhook' || new Date(wait.until) <= asOf;
}

/** Whether a run may take steps now: it is due by time, or an event for its step has arrived. */
function mayStep(of: ActiveRun, asOf: Date): boolean {
  const { record, arrivals } = of;
  return isDue(of, asOf) || arrivals.some(({ stepId }) => stepId === record.stepId);
}

/** Reads what decides about the next steps of locked, active runs. */
async function loadActive({ trx, versions }: Advancing, runs: readonly LoadedRun[]): Promise<ActiveRun[]> {
  const active: Omit<ActiveRun, 'arrivals'>[] = [];
  for (const run of runs) {
    active.push({ run, version: await versions(run.version_id, trx), record: readRecord(run.record) });
  }
  const awaiting = active.filter(({ version }) => awaitsEvents(version)).map(({ run }) => run.id);
  // Read without a lock: an event that arrives later wakes the run again.
  const arrivals = await readArrivals(trx, awaiting);
  return active.map((one) => ({ ...one, arrivals: arrivals.get(one.run.id) ?? [] }));
}

/** Ends those of the runs that must end without another step. */
async function endSome({ trx, asOf }: Advancing, runs: readonly ActiveRun[]): Promise<Outcome[]> {
  const ending = runs.flatMap((of) => {
    const end = endOf(of);
    return end ? { ...of, end, last: of.record, isTaken: false } : [];
  });
  for (const same of groupByEnd(ending, ({ end }) => end)) {
    const [{ end }] = same as [(typeof same)[number]];
    await endRuns(
      trx,
      same.map(({ run }) => run.id),
      end,
      { asOf, priority: null },
    );
  }
  return ending;
}

/**
 * Finds those of the runs that do nothing, because their flows are paused. The flows are read again under a lock: either a
 * resume finds a run held, or this transaction sees the resume.
 */
async function holdSome({ trx, asOf }: Advancing, runs: readonly ActiveRun[]): Promise<Outcome[]> {
  const paused = runs.filter(({ run }) => run.flow_status !== 'active');
  const due = paused.filter((of) => isDue(of, asOf));
  const flowIds = [...new Set(due.map(({ run }) => run.flow_id))];
  const { rows } =
    flowIds.length === 0
      ? { rows: [] }
      : await trx.query<{ id: number; status: string }>(
          'select id, status from flows where id = any($1) order by id for share',
          [flowIds],
        );
  const resumed = new Set(rows.filter(({ status }) => status === 'active').map(({ id }) => id));
  return paused.flatMap((of): Outcome[] => {
    const { run, record } = of;
    const isHeld = isDue(of, asOf);
    if (isHeld && resumed.has(run.flow_id)) return [];
    const checkpoint = checkpointOf(run, record, asOf, isHeld);
    const halt = { halt: 'wait', record } as const;
    return [{ ...of, end: null, halt, checkpoint, effects: null, isIdle: !isHeld }];
  });
}

/** Serializes the runs that count messages of their contacts. */
async function lockSends({ trx, asOf, kind }: Advancing, runs: readonly ActiveRun[]): Promise<void> {
  if (kind === 'waits') return;
  const counting = runs.filter((of) => {
    const counts = of.run.capped || of.run.event?.mail !== undefined;
    return counts && mayStep(of, asOf) && sendsMessages(of.version);
  });
  await lockFrequency(
    trx,
    counting.map(({ run }) => run.contact_id),
  );
}

/** Takes the due steps of locked, active runs. */
async function takeSteps(
  deps: Advancing,
  transaction: BatchTransaction,
  runs: readonly ActiveRun[],
): Promise<Outcome[]> {
  const { asOf, stepsMs = MAX_STEPS_MS } = deps;
  const shared = {
    ...deps,
    ...transaction,
    questions: createQuestions(transaction),
    stepsUntil: performance.now() + stepsMs,
  };
  return transaction.gathering.all(
    runs.map((of) => async (): Promise<Outcome> => {
      const { context, effects } = createRunContext(shared, of);
      const halt = await advanceSteps(of.version.steps, of.record, context);
      if (halt.halt === 'end') {
        const { state, reason, record: last } = halt;
        return { ...of, end: { state, reason }, last, isTaken: true };
      }
      return { ...of, end: null, halt, checkpoint: checkpointOf(of.run, halt.record, asOf), effects };
    }),
  );
}

/** Whether a run stays as it is: it was not due, or its first step needs another kind of transaction. */
export function staysAsIs(outcome: Outcome): boolean {
  if (outcome.end) return false;
  const { run, record, checkpoint, effects } = outcome;
  // A change of the flow has made the run due, although it is not; see `wakeChanged`.
  if (outcome.isIdle) return run.retry_at === null;
  if (effects && !effects.isBegun && effects.stoppedFor !== null) return true;
  return isUnchanged(run, record, checkpoint, effects);
}

/** Writes what became of the runs. Messages come last, because others wait for the counters of their account. */
async function writeOutcomes(
  { asOf }: Advancing,
  transaction: BatchTransaction,
  outcomes: readonly Outcome[],
): Promise<void> {
  const { trx, paths } = transaction;
  await paths.write();
  const changed = outcomes.filter((outcome) => !staysAsIs(outcome));
  const left = changed.flatMap((outcome) => (outcome.end === null ? outcome : []));
  await forgetWaits(
    trx,
    left.flatMap(({ run, effects }) => (effects ? { run, effects } : [])),
  );
  await leaveRuns(trx, left);
  await finishRuns(
    trx,
    changed.flatMap((outcome) => (outcome.end && outcome.isTaken ? outcome : [])),
    asOf,
  );
  await writeMessages(transaction);
}

const without = (runs: readonly ActiveRun[], done: readonly Outcome[]): ActiveRun[] => {
  const ids = new Set(done.map(({ run }) => run.id));
  return runs.filter(({ run }) => !ids.has(run.id));
};

/** Whether a transaction takes steps of a run. In cohorts, requests of webhooks are made first, and runs that failed wait. */
function canStep({ kind, asOf }: Advancing, { waits_for: waitsFor, retry_at: retryAt }: LoadedRun): boolean {
  if (kind === 'single' || kind === 'alone') return true;
  return waitsFor !== 'webhook' && (retryAt === null || retryAt <= asOf);
}

/**
 * Takes the due steps of locked runs that are active. At most one may be of a contact.
 * @returns what became of them; runs of which none are due may be absent
 */
export async function advanceLocked(deps: Advancing, runs: readonly LoadedRun[]): Promise<Outcome[]> {
  const { trx, asOf, send, waker, afterCommit } = deps;
  const backlogs = new Set<string>();
  const transaction: BatchTransaction = {
    trx,
    asOf,
    gathering: new Gathering(),
    sends: send({ onQueued: (backlog) => void backlogs.add(backlog) }),
    paths: createPaths(trx),
  };
  const active = await loadActive(deps, runs);
  const outcomes = await endSome(deps, active);
  const others = without(active, outcomes).filter(({ run }) => canStep(deps, run));
  outcomes.push(...(await holdSome(deps, others)));
  const stepping = without(others, outcomes);
  await lockSends(deps, stepping);
  outcomes.push(...(await takeSteps(deps, transaction, stepping)));
  await writeOutcomes(deps, transaction, outcomes);
  if (backlogs.size > 0) afterCommit.push(() => waker.wake('send', [...backlogs]));
  return outcomes;
}
