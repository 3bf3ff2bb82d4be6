/** The transaction that takes the due steps of one run or of many. */
import type { FlowRunAdvance } from '../../../../workflows/flows/contract.ts';
import { inTransaction } from '../../../platform/db/queryable.ts';
import { handOver } from '../cohorts/hand-over.ts';
import type { RunRecord } from './interpreter.ts';
import { type LoadedRun, lockFreeRuns, lockRun } from './load.ts';
import type { BatchKind, TransactionKind } from './run-context.ts';
import { activeState, endedState } from './sentence.ts';
import { type AdvanceDeps, advanceLocked, type Advancing, type Outcome, staysAsIs } from './take-steps.ts';

export type { BatchKind } from './run-context.ts';
export type { AdvanceDeps } from './take-steps.ts';

async function inAdvance<T>(
  { pool, ...deps }: AdvanceDeps,
  { asOf, kind }: { asOf: Date; kind: TransactionKind },
  work: (advancing: Advancing) => Promise<T>,
): Promise<T> {
  const afterCommit: (() => void)[] = [];
  const result = await inTransaction(pool, (trx) => work({ ...deps, trx, asOf, kind, afterCommit }));
  for (const then of afterCommit) then();
  return result;
}

/** What the workflow of a run does next. */
function advanceOf(outcome: Outcome, asOf: Date): FlowRunAdvance {
  if (outcome.end) return { next: 'done', state: endedState(outcome.end, outcome.last.steps) };
  const { halt, checkpoint, version } = outcome;
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

const isOfCohort = (run: LoadedRun): run is LoadedRun & { cohort_id: number } => run.cohort_id !== null;

/**
 * Takes the due steps of a run in one transaction.
 * @param kind `alone`: the run belongs to a cohort, and the steps that a batch can take are left to it
 * @param lateSince receives the time since which its step is due
 */
export function advanceOne(
  deps: AdvanceDeps,
  runId: number,
  { asOf, kind }: { asOf: Date; kind: 'single' | 'alone' },
  lateSince: (time: Date) => void = () => undefined,
): Promise<FlowRunAdvance> {
  return inAdvance(deps, { asOf, kind }, async (advancing) => {
    const run = await lockRun(advancing.trx, runId);
    if (!run) return { next: 'done', state: endedState({ state: 'canceled', reason: 'deleted' }, 0) };
    lateSince(run.due_at ?? run.updated_at);
    if (run.state !== 'active') {
      // The record is emptied after its retention period.
      const { steps = 0 } = run.record as Partial<RunRecord>;
      return { next: 'done', state: endedState({ state: run.state, reason: run.reason }, steps) };
    }
    if (kind === 'single' && isOfCohort(run)) {
      advancing.afterCommit.push(() => deps.waker.wake('outbox'));
      return handOver(advancing.trx, run, asOf);
    }
    const [outcome] = await advanceLocked(advancing, [run]);
    return advanceOf(outcome as Outcome, asOf);
  });
}

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

/** Takes one run of each contact: runs of a contact must see each other's messages and changes. */
function firstOfContacts(runs: readonly LoadedRun[]): LoadedRun[] {
  const seen = new Set<number>();
  return runs.filter(({ contact_id: contactId }) => {
    const isFirst = !seen.has(contactId);
    seen.add(contactId);
    return isFirst;
  });
}

function resultOf(outcomes: readonly Outcome[], left: number[]): BatchResult {
  const result: BatchResult = { advanced: 0, alone: [], waits: [], again: [], left };
  for (const outcome of outcomes) {
    if (!staysAsIs(outcome)) result.advanced += 1;
    if (outcome.end || outcome.halt.halt !== 'again') continue;
    const stoppedFor = outcome.effects?.stoppedFor ?? 'again';
    // Another transaction has taken the step since the run was found to be at a wait.
    if (stoppedFor !== 'acts') result[stoppedFor].push(outcome.run.id);
  }
  return result;
}

/**
 * Takes the due steps of runs of cohorts in one transaction. Runs that are not due, or wait for the response to a webhook
 * step, stay as they are.
 * @throws the error of any of them; then all are unchanged
 */
export function advanceBatch(
  deps: AdvanceDeps,
  runIds: readonly number[],
  kind: BatchKind,
  asOf: Date,
): Promise<BatchResult> {
  return inAdvance(deps, { asOf, kind }, async (advancing) => {
    const locked = await lockFreeRuns(advancing.trx, runIds);
    const active = locked.filter((run) => run.state === 'active' && run.cohort_id !== null);
    const first = firstOfContacts(active);
    const seen = new Set(
      locked.filter((run) => first.includes(run) || !active.includes(run)).map(({ id }) => id),
    );
    const left = runIds.filter((id) => !seen.has(id));
    return resultOf(await advanceLocked(advancing, first), left);
  });
}

/**
 * Takes the due steps of a run of a cohort that must be alone in their transaction.
 * @throws its error; then it is unchanged
 */
export function advanceAlone(deps: AdvanceDeps, runId: number, asOf: Date): Promise<FlowRunAdvance> {
  return advanceOne(deps, runId, { asOf, kind: 'alone' });
}
