/** The simulated run of a contact: the interpreter in a context that writes nothing and skips waits. */
import type { Channel } from '../../../delivery/terms/message.ts';
import {
  advanceSteps,
  type ArrivedEvent,
  type AwaitedEvent,
  firstRecord,
  type StepResult,
  type RunContext,
  type Unreadable,
} from '../run/interpreter.ts';
import { allSteps, referencesOf, simulate, type Step, type StepTable, stepTable } from '../steps/index.ts';
import type { Changes, Filters, StoredStep } from '../steps/step.ts';
import type { StepOutput } from '../filters.ts';

export const MAX_SIMULATED_STEPS = 1_000;
/** How far a simulation looks ahead, in years. */
export const MAX_SIMULATED_YEARS = 10;

/** What is assumed about a step: the result of its filters, or the fields that its type takes. */
export type Answer = 'yes' | 'no' | Readonly<Record<string, unknown>>;

/** What is assumed about a step that waits for an event: when it arrives after the wait has begun, and its data. */
interface AssumedEvent {
  after_seconds?: number;
  data?: Readonly<Record<string, unknown>>;
}

export interface Answers {
  steps: ReadonlyMap<number, Answer>;
  /** When the contact reaches the goal by an external event, in seconds after the entry; null if it does not. */
  goalAfterSeconds: number | null;
}

/** The state of the simulation that reads of the contact depend on. */
export interface SimulatedState {
  asOf: Date;
  changes: Changes;
  /** The step outputs so far, for filters. */
  steps: ReadonlyMap<number, StepOutput>;
}

/** What the simulation reads of the real contact. */
export interface SimulatedContact extends Pick<RunContext, 'percentile'> {
  matches(state: SimulatedState, filters: Filters, received?: ArrivedEvent): Promise<boolean>;
  timeOf(state: SimulatedState, field: string): Promise<Date | Unreadable | null>;
  timezone(state: SimulatedState): Promise<string>;
  quietUntil(state: SimulatedState): Promise<Date | null>;
  /** Whether the contact would get the message: `sent`, `skipped`, or the reason for ending the run. */
  send(channel: Channel): Promise<StepResult | { exit: string }>;
}

export interface Assumed {
  /** When the contact enters. */
  at: Date;
  answers: Answers;
  /** The data of the event that starts the run. */
  eventData: Readonly<Record<string, unknown>>;
}

export interface SimulatedFlow {
  steps: readonly Step[];
  exitFilters: Filters;
  goal: string | null;
}

/** A step of the path, with times in ISO 8601. */
export interface SimulatedStep {
  step_id: number;
  type: Step['type'];
  entered_at: string;
  left_at: string;
  outcome: string;
  detail: Readonly<Record<string, unknown>> | null;
}

export interface SimulationResult {
  path: SimulatedStep[];
  ends: { state: 'active' | 'completed' | 'exited'; reason: string; at: string };
}

/** Filters whose result is assumed. */
function assumedFilters(steps: readonly Step[], answers: Answers, table: StepTable): Map<Filters, boolean> {
  const assumed = new Map<Filters, boolean>();
  for (const step of allSteps(steps, table)) {
    const { filters } = referencesOf(step, table);
    const answer = answers.steps.get(step.id);
    if (filters && typeof answer === 'string') assumed.set(filters, answer === 'yes');
  }
  return assumed;
}

const later = (time: Date, seconds: number) => new Date(time.getTime() + 1_000 * seconds);

/** The state of a simulation, and the context of its interpreter. */
class Simulation implements RunContext {
  asOf: Date;
  readonly path: SimulatedStep[] = [];
  /** When an event arrives for the current wait; null if none will. */
  arrivesAt: Date | null = null;
  /** Webhook steps whose request is assumed to have been made. */
  readonly called = new Set<number>();
  readonly changes: Changes = { data: {}, lists: new Map(), events: [] };
  private readonly steps = new Map<number, StepOutput>();
  private arriving: ArrivedEvent[] = [];
  private readonly enteredAt: Date;
  private readonly flow: SimulatedFlow;
  private readonly contact: SimulatedContact;
  private readonly answers: Answers;
  private readonly eventData: Readonly<Record<string, unknown>>;
  private readonly assumed: Map<Filters, boolean>;
  private readonly table: StepTable;

  constructor(flow: SimulatedFlow, contact: SimulatedContact, given: Assumed, table: StepTable) {
    this.flow = flow;
    this.table = table;
    this.contact = contact;
    this.asOf = given.at;
    this.enteredAt = given.at;
    this.answers = given.answers;
    this.eventData = given.eventData;
    this.assumed = assumedFilters(flow.steps, given.answers, table);
  }

  private get state(): SimulatedState {
    return { asOf: this.asOf, changes: this.changes, steps: this.steps };
  }

  private answerOf(stepId: number): Exclude<Answer, string> {
    const answer = this.answers.steps.get(stepId);
    return typeof answer === 'object' ? answer : {};
  }

  async mustExit(): Promise<string | null> {
    const { exitFilters } = this.flow;
    if (exitFilters.length === 0) return null;
    return (await this.contact.matches(this.state, exitFilters)) ? 'exit_filters' : null;
  }

  percentile(stepId: number): number {
    return this.contact.percentile(stepId);
  }

  async matches(filters: Filters, received?: ArrivedEvent): Promise<boolean> {
    return this.assumed.get(filters) ?? this.contact.matches(this.state, filters, received);
  }

  timeOf(field: string): Promise<Date | Unreadable | null> {
    return this.contact.timeOf(this.state, field);
  }

  timezone(): Promise<string> {
    return this.contact.timezone(this.state);
  }

  quietUntil(): Promise<Date | null> {
    return this.contact.quietUntil(this.state);
  }

  act(step: StoredStep): Promise<StepResult | { exit: string }> {
    return simulate(
      step,
      {
        asOf: this.asOf,
        changes: this.changes,
        eventData: this.eventData,
        assumed: this.answerOf(step.id),
        send: (channel) => this.contact.send(channel),
        leave: (output) => void this.steps.set(step.id, output),
      },
      this.table,
    );
  }

  /** Returns the run's own events that count for the wait, and the assumed external one once it has arrived. */
  async awaitEvent(step: AwaitedEvent): Promise<readonly ArrivedEvent[]> {
    const answer = this.answers.steps.get(step.id);
    if (answer === 'no') return [];
    if (answer === 'yes') return [{ id: 0, data: {}, occurredAt: this.asOf }];
    const own = this.earlierEvents(step);
    if (!answer) return own;
    const { after_seconds: seconds = 0, data = {} } = answer as AssumedEvent;
    this.arrivesAt = later(this.asOf, seconds);
    this.arriving = [{ id: 0, data, occurredAt: this.arrivesAt }];
    return [...own, ...(await this.arrivals())];
  }

  private earlierEvents({ include_since: since, event_name: name }: AwaitedEvent): ArrivedEvent[] {
    const left = typeof since === 'object' ? this.path.find(({ step_id: id }) => id === since.step) : null;
    const otherwise = since === 'entry' ? this.enteredAt : this.asOf;
    const from = left ? new Date(left.left_at) : otherwise;
    const counted = this.changes.events.filter((event) => event.name === name && event.at >= from);
    return counted.map(({ data, at }) => ({ id: 0, data, occurredAt: at }));
  }

  async arrivals(): Promise<readonly ArrivedEvent[]> {
    if (!this.arrivesAt || this.arrivesAt > this.asOf) return [];
    this.arrivesAt = null;
    return this.arriving.splice(0);
  }

  async endAwait(): Promise<void> {
    this.arrivesAt = null;
    this.arriving = [];
  }

  async answer(step: StoredStep): Promise<StepResult | null> {
    if (!this.called.has(step.id)) return null;
    return (await this.act(step)) as StepResult;
  }

  async record(step: Step, _place: number, arrived: Date, result: StepResult): Promise<void> {
    this.path.push({
      step_id: step.id,
      type: step.type,
      entered_at: arrived.toISOString(),
      left_at: this.asOf.toISOString(),
      outcome: result.outcome,
      detail: result.detail ?? null,
    });
  }
}

function earliest(times: readonly (Date | null)[]): Date {
  const given = times.filter((time) => time !== null).map((time) => time.getTime());
  return new Date(Math.min(...given));
}

/** Simulates a run. */
export async function simulateRun(
  flow: SimulatedFlow,
  contact: SimulatedContact,
  given: Assumed,
  table = stepTable,
): Promise<SimulationResult> {
  const simulation = new Simulation(flow, contact, given, table);
  const ended = (state: SimulationResult['ends']['state'], reason: string): SimulationResult => ({
    path: simulation.path,
    ends: { state, reason, at: simulation.asOf.toISOString() },
  });
  const horizon = new Date(given.at);
  horizon.setUTCFullYear(horizon.getUTCFullYear() + MAX_SIMULATED_YEARS);
  const { goalAfterSeconds } = given.answers;
  const goalAt = goalAfterSeconds === null ? null : later(given.at, goalAfterSeconds);
  let record = firstRecord(given.at);
  while (simulation.path.length < MAX_SIMULATED_STEPS) {
    const halt = await advanceSteps(flow.steps, record, simulation, table);
    if (halt.halt === 'end') return ended(halt.state, halt.reason);
    record = halt.record;
    if (flow.goal !== null && simulation.changes.events.some(({ name }) => name === flow.goal)) {
      return ended('exited', 'goal');
    }
    if (halt.halt === 'call') simulation.called.add(halt.stepId);
    if (halt.halt !== 'wait' || !record.wait || record.wait.for === 'webhook') continue;
    const next = earliest([new Date(record.wait.until), simulation.arrivesAt, goalAt]);
    if (next > horizon) return ended('active', 'too_far_ahead');
    simulation.asOf = next;
    if (goalAt && next >= goalAt) return ended('exited', 'goal');
  }
  return ended('active', 'too_many_steps');
}
