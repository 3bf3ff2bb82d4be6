/**
 * What a run does. The interpreter decides; a {@link RunContext} reads and acts. The transaction of a run, `simulate` and
 * tests have contexts of their own, so that all of them follow the same paths.
 */
import { branchesOf, type Step, stepTable, typeOf } from '../steps/index.ts';
import type { Filters, StoredStep } from '../steps/step.ts';

/** Raise it when the meaning of {@link RunRecord} changes, and read the earlier ones in `record.ts`. */
export const RECORD_SCHEMA = 1;

/** What a run waits for at its step. Times are in ISO 8601. */
export type RunWait =
  | { for: 'time' | 'quiet_hours'; until: string }
  | { for: 'event'; eventName: string; until: string }
  /** The request of the webhook step is made outside of the transaction. */
  | { for: 'webhook' };

/** Where a run is, as `flow_runs.record` stores it. */
export interface RunRecord {
  schema: typeof RECORD_SCHEMA;
  /** The step to do next, or to wait at; null: the run has not begun, or has no step left. */
  stepId: number | null;
  begun: boolean;
  wait: RunWait | null;
  enteredAt: string;
  /** When the run came to its step. */
  arrivedAt: string;
  /** Steps done: the next place in the path. */
  steps: number;
}

/** An event that arrived for a wait. */
export interface ArrivedEvent {
  id: number;
  data: Readonly<Record<string, unknown>>;
  /** Events that occurred after the end of the wait do not count, however late the run looks. */
  occurredAt: Date;
}

/** What a step waits for. */
export interface AwaitedEvent {
  /** Of the step. */
  id: number;
  event_name: string;
  /** From when earlier events count: since the entry, or since a step was left; left out: only events that arrive. */
  include_since?: 'entry' | { step: number };
}

/** What a step has done, for the path of the run. */
export interface StepResult {
  /** Such as `sent`, `skipped`, `yes`, `no`, `timeout`, `branch 1`, `done`. */
  outcome: string;
  detail?: Readonly<Record<string, unknown>>;
  messageId?: number;
  eventId?: number;
}

/** What the interpreter reads and does. Everything that acts happens at most once for a run, step and iteration. */
export interface RunContext {
  /** The time at which the run advances. */
  readonly asOf: Date;
  /**
   * Why the run must end instead of doing its next step, such as `exit_filters`; null: it goes on. Asked before a step is
   * begun, and again after quiet hours.
   */
  mustExit(): Promise<string | null>;
  /** Stable in a run, for splits: the flow's, contact's and step's ids decide. In [0, 100). */
  percentile(stepId: number): number;
  /** Whether filters hold for the contact as of now. @param received the event that `received.<path>` names */
  matches(filters: Filters, received?: ArrivedEvent): Promise<boolean>;
  /** The contact's value of a field that holds a time; null: missing, or no time. */
  timeOf(field: string): Promise<Date | null>;
  /** The time zone of the contact, as `contactTimezone` finds it. */
  timezone(): Promise<string>;
  /** When the brand's quiet hours end; null: they are not now. Only asked for steps that send. */
  quietUntil(): Promise<Date | null>;
  /**
   * Lets a step act, such as send its message, as {@link StepType.act} describes.
   * @returns `exit` with a reason if the run must end
   */
  act(step: StoredStep): Promise<StepResult | { exit: string }>;
  /** Registers the wait, and returns events that count and were there before, in order. */
  awaitEvent(step: AwaitedEvent): Promise<readonly ArrivedEvent[]>;
  /** Events that arrived for the registered wait and were not judged yet, in order. */
  arrivals(step: AwaitedEvent): Promise<readonly ArrivedEvent[]>;
  endAwait(step: AwaitedEvent): Promise<void>;
  /** What was answered from outside, such as by the endpoint of a webhook step; null: it was not asked yet. */
  answer(step: StoredStep): Promise<StepResult | null>;
  /** Adds a step to the path of the run. `arrived`: when the run came to it. It leaves the step as of now. */
  record(step: Step, place: number, arrived: Date, result: StepResult): Promise<void>;
  /**
   * Whether others wait for the transaction, for its locks or its connection: no further step is done in it. Never true
   * before it has done one.
   */
  mustCommit?(): boolean;
}

/** How a transaction of a run ends. */
export type Halt =
  | { halt: 'wait'; record: RunRecord }
  | { halt: 'call'; record: RunRecord; stepId: number }
  /** Further steps are due: at most {@link MAX_STEPS_AT_ONCE} are done at a time, and none under locks of events. */
  | { halt: 'again'; record: RunRecord }
  | { halt: 'end'; record: RunRecord; state: 'completed' | 'exited'; reason: string };

export const MAX_STEPS_AT_ONCE = 50;

/** What a run does at its step: it is done there and goes on to `next` or ends, or it waits there. */
export type Move = { result: StepResult; next: Step | null; exit?: string } | { wait: RunWait };

/** The record of a run that has just been made. */
export function firstRecord(enteredAt: Date): RunRecord {
  const entered = enteredAt.toISOString();
  return {
    schema: RECORD_SCHEMA,
    stepId: null,
    begun: false,
    wait: null,
    enteredAt: entered,
    arrivedAt: entered,
    steps: 0,
  };
}

interface Found {
  step: Step;
  /** The step that comes after it, also where its branch ends; null: the run ends after it. */
  next: Step | null;
}

function find(steps: readonly Step[], id: number, after: Step | null, table = stepTable): Found | null {
  for (const [n, step] of steps.entries()) {
    const next = steps[n + 1] ?? after;
    if (step.id === id) return { step, next };
    for (const branch of branchesOf(step, table)) {
      const found = find(branch.steps, id, next, table);
      if (found) return found;
    }
  }
  return null;
}

/** The step with an id, at any depth; null: there is none. */
export function findStep(steps: readonly Step[], id: number): Step | null {
  return find(steps, id, null)?.step ?? null;
}

/** The step that comes after a step and its branches; null: none. */
export function nextOf(steps: readonly Step[], id: number): Step | null {
  return find(steps, id, null)?.next ?? null;
}

function beginRecord(steps: readonly Step[], record: RunRecord, asOf: Date): RunRecord {
  return { ...record, begun: true, stepId: steps[0]?.id ?? null, arrivedAt: asOf.toISOString() };
}

function haltAt({ id: stepId }: Step, record: RunRecord): Halt {
  return record.wait?.for === 'webhook' ? { halt: 'call', record, stepId } : { halt: 'wait', record };
}

const exited = (record: RunRecord, reason: string): Halt => ({
  halt: 'end',
  record: { ...record, stepId: null, wait: null },
  state: 'exited',
  reason,
});

/**
 * Does the steps of a run that are due, up to the next wait, outside call or end.
 * @param steps of the version that the run follows
 * @returns the record to store, and why it stopped
 */
export async function advanceSteps(
  steps: readonly Step[],
  record: RunRecord,
  context: RunContext,
  table = stepTable,
): Promise<Halt> {
  let now = record.begun ? record : beginRecord(steps, record, context.asOf);
  for (let done = 0; now.stepId !== null; done += 1) {
    const found = find(steps, now.stepId, null, table);
    if (!found) return exited(now, 'step_removed');
    if (done === MAX_STEPS_AT_ONCE || context.mustCommit?.()) return { halt: 'again', record: now };
    const reason = now.wait === null || now.wait.for === 'quiet_hours' ? await context.mustExit() : null;
    if (reason !== null) return exited(now, reason);
    const { step, next } = found;
    const move = await typeOf(step, table).run(step, { next, wait: now.wait, context });
    if ('wait' in move) return haltAt(step, { ...now, wait: move.wait });
    await context.record(step, now.steps, new Date(now.arrivedAt), move.result);
    const arrivedAt = context.asOf.toISOString();
    now = { ...now, stepId: move.next?.id ?? null, wait: null, arrivedAt, steps: now.steps + 1 };
    if (move.exit !== undefined) return exited(now, move.exit);
  }
  return { halt: 'end', record: now, state: 'completed', reason: 'end' };
}
