/**
 * What a run does. The interpreter decides; a {@link World} reads and acts. The transaction of a run, `simulate` and
 * tests have worlds of their own, so that all of them follow the same paths.
 */
import {
  branchesOf,
  type EmailStep,
  type EventStep,
  type FieldTime,
  type Filters,
  type ListStep,
  type SmsStep,
  type SplitStep,
  type Step,
  type UpdateContactStep,
  type WaitForEventStep,
  type WaitStep,
} from '../steps/index.ts';
import { isLocalTime, nextLocalTime } from './times.ts';

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

/** What a step has done, for the path of the run. */
export interface StepResult {
  /** Such as `sent`, `skipped`, `yes`, `no`, `timeout`, `branch 1`, `done`. */
  outcome: string;
  detail?: Readonly<Record<string, unknown>>;
  messageId?: number;
  eventId?: number;
}

/** What the interpreter reads and does. Everything that acts happens at most once for a run, step and iteration. */
export interface World {
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
  /** Writes the message; `skipped` with a reason if the contact must not get it, or `exit` if the run must end. */
  send(step: EmailStep | SmsStep): Promise<StepResult | { exit: string }>;
  trackEvent(step: EventStep): Promise<StepResult>;
  updateContact(step: UpdateContactStep): Promise<StepResult>;
  changeList(step: ListStep): Promise<StepResult>;
  /** Registers the wait, and returns events that count and were there before, in order. */
  awaitEvent(step: WaitForEventStep): Promise<readonly ArrivedEvent[]>;
  /** Events that arrived for the registered wait and were not judged yet, in order. */
  arrivals(step: WaitForEventStep): Promise<readonly ArrivedEvent[]>;
  endAwait(step: WaitForEventStep): Promise<void>;
  /** The answer of the webhook step, once the request was made; null: it was not. */
  answer(stepId: number): Promise<StepResult | null>;
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
type Move = { result: StepResult; next: Step | null; exit?: string } | { wait: RunWait };

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

function find(steps: readonly Step[], id: number, after: Step | null): Found | null {
  for (const [n, step] of steps.entries()) {
    const next = steps[n + 1] ?? after;
    if (step.id === id) return { step, next };
    for (const branch of branchesOf(step)) {
      const found = find(branch.steps, id, next);
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

/** When a wait that begins now ends; null: it does not begin. */
async function endOfWait(step: WaitStep, world: World): Promise<Date | null> {
  if ('duration' in step) return new Date(world.asOf.getTime() + 1_000 * step.duration);
  const { until } = step;
  if (!isLocalTime(until)) return timeOfField(until, world);
  const timezone = until.timezone ?? 'contact';
  return nextLocalTime(world.asOf, until, timezone === 'contact' ? await world.timezone() : timezone);
}

/** Null: the time is missing. */
async function timeOfField(until: FieldTime, world: World): Promise<Date | null> {
  const time = await world.timeOf(until.field);
  return time && new Date(time.getTime() + 1_000 * (until.offset_seconds ?? 0));
}

async function doWait(
  { step, next }: Found & { step: WaitStep },
  wait: RunWait | null,
  world: World,
): Promise<Move> {
  const field = 'until' in step && !isLocalTime(step.until) ? step.until : null;
  if (wait?.for === 'time') {
    if (new Date(wait.until) > world.asOf) return { wait };
    // The date may have been put off meanwhile.
    const moved = field && (await timeOfField(field, world));
    if (moved && moved > world.asOf) return { wait: { for: 'time', until: moved.toISOString() } };
    return { result: { outcome: 'done', detail: { until: wait.until } }, next };
  }
  const until = await endOfWait(step, world);
  if (until && until > world.asOf) return { wait: { for: 'time', until: until.toISOString() } };
  const outcome = until ? 'passed' : 'missing';
  const result = { outcome, ...(until && { detail: { until: until.toISOString() } }) };
  return field?.if_past === 'exit' ? { result, next, exit: `date_${outcome}` } : { result, next };
}

/** Finds the first event that counts and that the filters of the wait accept. */
async function firstMatch(
  step: WaitForEventStep,
  events: readonly ArrivedEvent[],
  until: Date,
  world: World,
): Promise<ArrivedEvent | null> {
  for (const event of events) {
    if (event.occurredAt > until) continue;
    if (!step.filters?.length || (await world.matches(step.filters, event))) return event;
  }
  return null;
}

/**
 * The first event that matches and occurred before the end of the wait decides, even if the run looks at it later.
 * The lock of the contact decides about an event whose transaction began before the end and commits after the run looked:
 * it comes too late.
 */
async function doWaitForEvent(
  { step, next }: Found & { step: WaitForEventStep },
  waited: RunWait | null,
  world: World,
): Promise<Move> {
  // A new version of the flow may have given the step another event.
  const wait = waited?.for === 'event' && waited.eventName === step.event_name ? waited : null;
  const until = wait ? new Date(wait.until) : new Date(world.asOf.getTime() + 1_000 * step.duration);
  const events = wait ? await world.arrivals(step) : await world.awaitEvent(step);
  const event = await firstMatch(step, events, until, world);
  if (!event && until > world.asOf) {
    return { wait: { for: 'event', eventName: step.event_name, until: until.toISOString() } };
  }
  await world.endAwait(step);
  return event
    ? { result: { outcome: 'yes', eventId: event.id }, next: step.yes[0] ?? next }
    : { result: { outcome: 'timeout' }, next: step.no[0] ?? next };
}

async function doSend({ step, next }: Found & { step: EmailStep | SmsStep }, world: World): Promise<Move> {
  const until = await world.quietUntil();
  if (until && until > world.asOf) return { wait: { for: 'quiet_hours', until: until.toISOString() } };
  const result = await world.send(step);
  if (!('exit' in result)) return { result, next };
  return { result: { outcome: 'skipped', detail: { reason: result.exit } }, next, exit: result.exit };
}

function doSplit({ step, next }: Found & { step: SplitStep }, world: World): Move {
  const percentile = world.percentile(step.id);
  let upTo = 0;
  const chosen = step.branches.findIndex(({ weight }) => percentile < (upTo += weight));
  // Weights with fractions may add up to a little less than 100.
  const n = chosen === -1 ? step.branches.length - 1 : chosen;
  return { result: { outcome: `branch ${n + 1}` }, next: step.branches[n]?.steps[0] ?? next };
}

async function doStep(found: Found, wait: RunWait | null, world: World): Promise<Move> {
  const { step, next } = found;
  switch (step.type) {
    case 'email':
    case 'sms':
      return doSend({ step, next }, world);
    case 'wait':
      return doWait({ step, next }, wait, world);
    case 'condition': {
      const holds = await world.matches(step.filters);
      const branch = holds ? step.yes : step.no;
      return { result: { outcome: holds ? 'yes' : 'no' }, next: branch[0] ?? next };
    }
    case 'wait_for_event':
      return doWaitForEvent({ step, next }, wait, world);
    case 'event':
      return { result: await world.trackEvent(step), next };
    case 'update_contact':
      return { result: await world.updateContact(step), next };
    case 'add_to_list':
    case 'remove_from_list':
      return { result: await world.changeList(step), next };
    case 'webhook': {
      const result = await world.answer(step.id);
      return result ? { result, next } : { wait: { for: 'webhook' } };
    }
    case 'split':
      return doSplit({ step, next }, world);
    case 'exit':
      return { result: { outcome: 'exit' }, next: null, exit: step.reason ?? 'exit' };
  }
}

function begin(steps: readonly Step[], record: RunRecord, asOf: Date): RunRecord {
  return { ...record, begun: true, stepId: steps[0]?.id ?? null, arrivedAt: asOf.toISOString() };
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
export async function advanceSteps(steps: readonly Step[], record: RunRecord, world: World): Promise<Halt> {
  let now = record.begun ? record : begin(steps, record, world.asOf);
  for (let done = 0; now.stepId !== null; done += 1) {
    const found = find(steps, now.stepId, null);
    if (!found) return exited(now, 'step_removed');
    if (done === MAX_STEPS_AT_ONCE || world.mustCommit?.()) return { halt: 'again', record: now };
    const reason = now.wait === null || now.wait.for === 'quiet_hours' ? await world.mustExit() : null;
    if (reason !== null) return exited(now, reason);
    const move = await doStep(found, now.wait, world);
    if ('wait' in move) {
      const waiting = { ...now, wait: move.wait };
      if (move.wait.for === 'webhook') return { halt: 'call', record: waiting, stepId: found.step.id };
      return { halt: 'wait', record: waiting };
    }
    await world.record(found.step, now.steps, new Date(now.arrivedAt), move.result);
    const arrivedAt = world.asOf.toISOString();
    now = { ...now, stepId: move.next?.id ?? null, wait: null, arrivedAt, steps: now.steps + 1 };
    if (move.exit !== undefined) return exited(now, move.exit);
  }
  return { halt: 'end', record: now, state: 'completed', reason: 'end' };
}
