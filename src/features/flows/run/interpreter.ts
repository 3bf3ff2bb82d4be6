/**
 * The interpreter of runs. It decides; a {@link RunContext} reads and acts. The transaction of a run, simulations and
 * tests have different contexts but share the interpreter, so that all follow the same paths.
 */
import { branchesOf, type Step, stepTable, typeOf } from '../steps/index.ts';
import type { Filters, StoredStep } from '../steps/step.ts';

/** Increase it when the meaning of {@link RunRecord} changes, and add a reader for the earlier ones to `record.ts`. */
export const RECORD_SCHEMA = 1;

/** What a run waits for at its step. Times are in ISO 8601. */
export type RunWait =
  | { for: 'time' | 'quiet_hours'; until: string }
  | { for: 'event'; eventName: string; until: string }
  /** The request of the webhook step is made outside of the transaction. */
  | { for: 'webhook' };

/** The progress of a run, as `flow_runs.record` stores it. */
export interface RunRecord {
  schema: typeof RECORD_SCHEMA;
  /** The step to take next, or to wait at; null if the run has not begun, or has no step left. */
  stepId: number | null;
  begun: boolean;
  wait: RunWait | null;
  enteredAt: string;
  /** When the run reached its step. */
  arrivedAt: string;
  /** Number of steps taken, which is the next position in the path. */
  steps: number;
}

/** An event that arrived for a wait. */
export interface ArrivedEvent {
  id: number;
  data: Readonly<Record<string, unknown>>;
  /** Events that occurred after the end of the wait do not count, however late the run reads them. */
  occurredAt: Date;
}

/** What a step waits for. */
export interface AwaitedEvent {
  /** The id of the step. */
  id: number;
  event_name: string;
  /** Earlier events count since the entry, or since the run left a step. Left out, only events that arrive count. */
  include_since?: 'entry' | { step: number };
}

/** The result of a step, for the path of the run. */
export interface StepResult {
  /** Such as `sent`, `skipped`, `yes`, `no`, `timeout`, `branch 1`, `done`. */
  outcome: string;
  detail?: Readonly<Record<string, unknown>>;
  messageId?: number;
  eventId?: number;
}

/** A value that is not a time, although one is asked for. */
export interface Unreadable {
  unreadable: unknown;
}

/** What the interpreter reads and does. Each action happens at most once per run, step and iteration. */
export interface RunContext {
  /** The time at which the run advances. */
  readonly asOf: Date;
  /**
   * Why the run must end instead of taking its next step, such as `exit_filters`; null if it continues. Called before
   * each step, and again after quiet hours.
   */
  mustExit(): Promise<string | null>;
  /** A stable number in [0, 100) for splits, derived from the ids of the flow, the contact and the step. */
  percentile(stepId: number): number;
  /** Whether the contact matches filters now. @param received the event that `received.<path>` names */
  matches(filters: Filters, received?: ArrivedEvent): Promise<boolean>;
  /**
   * The contact's value of a field that contains a time; null if it is missing. Values without a zone are in that of the
   * brand, else in UTC.
   */
  timeOf(field: string): Promise<Date | Unreadable | null>;
  /** The time zone of the contact, as `contactTimezone` finds it. */
  timezone(): Promise<string>;
  /** When the brand's current quiet hours end; null if there are none now. Only called for steps that send. */
  quietUntil(): Promise<Date | null>;
  /**
   * Executes a step, such as sending its message, as {@link StepType.act} describes.
   * @returns `exit` with a reason if the run must end
   */
  act(step: StoredStep): Promise<StepResult | { exit: string }>;
  /** Registers the wait, and returns earlier events that count, in order. */
  awaitEvent(step: AwaitedEvent): Promise<readonly ArrivedEvent[]>;
  /** Returns events that have arrived for the registered wait and were not judged yet, in order. */
  arrivals(step: AwaitedEvent): Promise<readonly ArrivedEvent[]>;
  endAwait(step: AwaitedEvent): Promise<void>;
  /** The result of an outside call, such as the response to a webhook step; null if it has not been made yet. */
  answer(step: StoredStep): Promise<StepResult | null>;
  /** Adds a step to the path of the run, which leaves it now. `arrived`: when the run reached it. */
  record(step: Step, place: number, arrived: Date, result: StepResult): Promise<void>;
  /**
   * Whether the transaction must stop before the step, because others wait for its locks or its connection, or because
   * the step needs another kind of transaction.
   * @param wait what the run has waited for at the step; null if it has just reached it
   */
  mustCommit?(step: Step, wait: RunWait | null): boolean;
}

/** How a transaction of a run stops. */
export type Halt =
  | { halt: 'wait'; record: RunRecord }
  | { halt: 'call'; record: RunRecord; stepId: number }
  /** Further steps are due. A transaction takes at most {@link MAX_STEPS_AT_ONCE}, see also {@link RunContext.mustCommit}. */
  | { halt: 'again'; record: RunRecord }
  | { halt: 'end'; record: RunRecord; state: 'completed' | 'exited'; reason: string };

export const MAX_STEPS_AT_ONCE = 50;

/** What a run does at its step: it continues with `next` or ends, or it waits there. */
export type StepDecision = { result: StepResult; next: Step | null; exit?: string } | { wait: RunWait };

/** The record of a new run. */
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
  /** The step that follows, also after the end of a branch; null if the run ends here. */
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

/** Finds the step with an id, at any depth; null if there is none. */
export function findStep(steps: readonly Step[], id: number): Step | null {
  return find(steps, id, null)?.step ?? null;
}

/** The step after a step and its branches; null if there is none. */
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
 * Takes the due steps of a run, up to the next wait, webhook call or end.
 * @param steps of the version that the run follows
 * @returns the record to store, and why the run stopped
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
    const { step, next } = found;
    if (done === MAX_STEPS_AT_ONCE || context.mustCommit?.(step, now.wait)) {
      return { halt: 'again', record: now };
    }
    const reason = now.wait === null || now.wait.for === 'quiet_hours' ? await context.mustExit() : null;
    if (reason !== null) return exited(now, reason);
    const move = await typeOf(step, table).run(step, { next, wait: now.wait, context });
    if ('wait' in move) return haltAt(step, { ...now, wait: move.wait });
    await context.record(step, now.steps, new Date(now.arrivedAt), move.result);
    const arrivedAt = context.asOf.toISOString();
    now = { ...now, stepId: move.next?.id ?? null, wait: null, arrivedAt, steps: now.steps + 1 };
    if (move.exit !== undefined) return exited(now, move.exit);
  }
  return { halt: 'end', record: now, state: 'completed', reason: 'end' };
}
