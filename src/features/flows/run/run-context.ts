/** The context of a run: what its steps read and do in the transaction. */
import type { TrackedEventConsumer } from '../../contact-events/service.ts';
import { act, allSteps, awaitedEvent, channelOf, isAlone, sendingSteps, type Step } from '../steps/index.ts';
import { type Acting, isForEvent, type StoredStep } from '../steps/step.ts';
import type { FlowVersion } from '../versions.ts';
import { readsOf } from './contact-reads.ts';
import type { ArrivedEvent, AwaitedEvent, RunContext, RunRecord, RunWait } from './interpreter.ts';
import type { LoadedRun } from './load.ts';
import { type BatchTransaction, type Questions, writeMessages } from './questions.ts';
import { quietUntil } from './send.ts';
import type { Arrival } from './waits.ts';

/**
 * What a transaction of many runs does. `acts`: all steps, except those that begin to wait for an event and those that a
 * run must take alone. `waits`: it lets runs begin to wait for events, because messages and other effects must not wait
 * for the locks of contacts.
 */
export type BatchKind = 'acts' | 'waits';

/** `single`: all steps of a run with its own workflow. `alone`: the steps that a run of a cohort must take alone. */
export type TransactionKind = BatchKind | 'single' | 'alone';

/** A locked run that is active. */
export interface ActiveRun {
  run: LoadedRun;
  version: FlowVersion;
  record: RunRecord;
  /** Events that have arrived for the run. */
  arrivals: readonly Arrival[];
}

/** What the contexts of the runs of a transaction share. */
export interface ContextDeps extends BatchTransaction {
  kind: TransactionKind;
  questions: Questions;
  consumers: readonly TrackedEventConsumer[];
  afterCommit: (() => void)[];
  /** When the transaction must take no further step: a time of `performance.now()`. */
  stepsUntil: number;
}

/** What the steps of a run leave to be written together with it. */
export interface Effects {
  /** Events that have been judged; they are not judged again. */
  judged: number[];
  /** Waits that ended. */
  ended: number[];
  /** Whether a step took locks for which events of the contact or brand, or test messages of the account, wait. */
  holdsLocks: boolean;
  /** Whether the run has taken a step. */
  isBegun: boolean;
  /** Set if the run stopped before a step for another kind of transaction. */
  stoppedFor: 'alone' | BatchKind | null;
}

/** Whether runs of a version may wait for events. */
export function awaitsEvents({ goal, steps }: FlowVersion): boolean {
  return goal !== null || allSteps(steps).some((step) => awaitedEvent(step) !== null);
}

/** Whether runs of a version may send messages. */
export function sendsMessages({ steps }: FlowVersion): boolean {
  return sendingSteps(steps).length > 0;
}

/** Builds what steps act with. */
function actingOf(deps: ContextDeps, { run }: ActiveRun, effects: Effects): Acting {
  const { trx, asOf, consumers, afterCommit, questions } = deps;
  return {
    trx,
    run,
    asOf,
    consumers,
    afterCommit,
    send: (step) => questions.send({ run, step }),
    holdLocks: () => void (effects.holdsLocks = true),
  };
}

function actsOf(deps: ContextDeps, of: ActiveRun, effects: Effects): RunContext['act'] {
  const { run } = of;
  const acting = actingOf(deps, of, effects);
  return async (step) => {
    // A run that moved to another version may reach a step again.
    if (run.moved && (await deps.questions.hasTaken({ run, step }))) {
      return { outcome: 'skipped', detail: { reason: 'already_done' } };
    }
    // A step that is taken alone may lock what messages of others wait for.
    if (channelOf(step) === null) await writeMessages(deps);
    return act(step, acting);
  };
}

/** Since when earlier events count for a wait. */
function countsSince(
  asOf: Date,
  { run, record }: ActiveRun,
  { id: stepId, include_since: since }: AwaitedEvent,
): { time: Date; leftStep?: number } {
  if (since === 'entry') return { time: new Date(run.event?.created_at ?? record.enteredAt) };
  if (since) return { time: asOf, leftStep: since.step };
  // If an earlier transaction or a move already brought the run to this step, events written since then count.
  const cameBefore = record.stepId === stepId && (record.wait === null || record.wait.for === 'event');
  return { time: cameBefore ? new Date(record.arrivedAt) : asOf };
}

function waitsOf(
  { asOf, questions }: ContextDeps,
  of: ActiveRun,
  effects: Effects,
): Pick<RunContext, 'awaitEvent' | 'arrivals' | 'endAwait'> {
  const { run, arrivals } = of;
  const judge = (step: AwaitedEvent): ArrivedEvent[] => {
    const own = arrivals.filter(({ stepId }) => stepId === step.id);
    effects.judged.push(...own.map(({ id }) => id));
    return own;
  };
  return {
    async awaitEvent(step) {
      // Marks events as judged that arrived for an earlier version of the step; they do not count for this one.
      judge(step);
      // The run takes no further step under the lock of its contact, for which events wait.
      effects.holdsLocks = true;
      const wait = {
        runId: run.id,
        stepId: step.id,
        brandId: run.brand_id,
        contactId: run.contact_id,
        eventName: step.event_name,
        test: run.test,
        causeId: run.event?.id ?? null,
        again: step.include_since !== undefined,
      };
      return questions.awaitEvent({ wait, since: countsSince(asOf, of, step) });
    },
    arrivals: (step) => Promise.resolve(judge(step)),
    endAwait(step) {
      effects.ended.push(step.id);
      return Promise.resolve();
    },
  };
}

function factsOf({ asOf, questions }: ContextDeps, { run, version }: ActiveRun) {
  const reads = readsOf(questions, () => ({
    runId: run.id,
    flowId: run.flow_id,
    brandId: run.brand_id,
    contactId: run.contact_id,
    asOf,
    trigger: run.event && (run.event.data ?? {}),
  }));
  return {
    ...reads,
    async mustExit() {
      if (version.exitFilters.length === 0) return null;
      return (await reads.matches(version.exitFilters)) ? 'exit_filters' : null;
    },
    async quietUntil() {
      const hours = run.quiet_hours;
      if (hours === null) return null;
      return quietUntil(run, hours.timezone === 'contact' ? await reads.timezone() : 'UTC', asOf);
    },
    answer: (step: StoredStep) => questions.answer({ run, step }),
  };
}

/** Whether a run must take a step in a transaction without others. */
function mustBeAlone(run: LoadedRun, step: Step): boolean {
  // Answers to mail are counted.
  return isAlone(step) || (channelOf(step) !== null && run.event?.mail !== undefined);
}

function beginsToWait(step: Step, wait: RunWait | null): boolean {
  const eventName = awaitedEvent(step);
  return eventName !== null && !isForEvent(wait, eventName);
}

/** Returns the kind of transaction that takes the step instead of this one; null: this one takes it. */
function otherKind(
  kind: TransactionKind,
  run: LoadedRun,
  { step, wait, isBegun }: { step: Step; wait: RunWait | null; isBegun: boolean },
): Effects['stoppedFor'] {
  if (kind === 'single') return null;
  if (mustBeAlone(run, step)) return kind === 'alone' ? null : 'alone';
  if (kind === 'alone') return isBegun ? 'acts' : null;
  const needed = beginsToWait(step, wait) ? 'waits' : 'acts';
  return needed === kind ? null : needed;
}

/** Creates the context of a locked run. @returns the context, and what must be written after its steps */
export function createRunContext(
  deps: ContextDeps,
  of: ActiveRun,
): { context: RunContext; effects: Effects } {
  const { asOf, kind, paths, stepsUntil } = deps;
  const { run } = of;
  const effects: Effects = { judged: [], ended: [], holdsLocks: false, isBegun: false, stoppedFor: null };
  const context: RunContext = {
    asOf,
    ...factsOf(deps, of),
    act: actsOf(deps, of, effects),
    ...waitsOf(deps, of, effects),
    record(step: Step, place, arrived, result) {
      effects.isBegun = true;
      paths.add({ run, step, place, arrived, left: asOf, result });
      return Promise.resolve();
    },
    mustCommit(step, wait) {
      if (effects.holdsLocks) return true;
      effects.stoppedFor = otherKind(kind, run, { step, wait, isBegun: effects.isBegun });
      return effects.stoppedFor !== null || (effects.isBegun && performance.now() > stepsUntil);
    },
  };
  return { context, effects };
}
