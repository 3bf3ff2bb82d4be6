/** The course that a run would take: the interpreter in a world that writes nothing and jumps over waits. */
import {
  advanceSteps,
  type ArrivedEvent,
  firstRecord,
  type StepResult,
  type World,
} from '../run/interpreter.ts';
import {
  allSteps,
  type ConditionStep,
  type EmailStep,
  type Filters,
  type ListStep,
  type SmsStep,
  type Step,
  type UpdateContactStep,
  type WaitForEventStep,
} from '../steps/index.ts';
import type { StepFacts } from '../filters.ts';

export const MAX_SIMULATED_STEPS = 1_000;
/** A simulation looks this many years ahead. */
export const MAX_SIMULATED_YEARS = 10;

/** What is assumed about a step: an outcome, or more of it. */
export type Answer =
  | 'yes'
  | 'no'
  | {
      /** `wait_for_event`: the event arrives so long after the wait has begun, with this data. */
      after_seconds?: number | undefined;
      data?: Readonly<Record<string, unknown>> | undefined;
      /** `webhook`: its answer. */
      status?: number | undefined;
      body?: unknown;
      /** `email`: what the contact does with the message, at once. */
      opened?: boolean | undefined;
      clicked?: boolean | undefined;
    };

export interface Answers {
  steps: ReadonlyMap<number, Answer>;
  /** When the contact reaches the goal, in seconds after the entry; null: not by an event from outside. */
  goalAfterSeconds: number | null;
}

/** What the simulated run has changed so far. */
export interface Changes {
  data: Record<string, unknown>;
  lists: Map<number, boolean>;
  events: { name: string; data: Readonly<Record<string, unknown>>; at: Date }[];
}

/** The moment of the simulation, for facts about the contact. */
export interface Moment {
  asOf: Date;
  changes: Changes;
  /** What the steps have left for filters so far. */
  steps: ReadonlyMap<number, StepFacts>;
}

/** What the simulation asks about the real contact. */
export interface ContactFactsAt extends Pick<World, 'percentile'> {
  matches(moment: Moment, filters: Filters, received?: ArrivedEvent): Promise<boolean>;
  timeOf(moment: Moment, field: string): Promise<Date | null>;
  timezone(moment: Moment): Promise<string>;
  quietUntil(moment: Moment): Promise<Date | null>;
  /** Whether the contact would get the message: `sent`, `skipped`, or the reason for which the run ends. */
  send(step: EmailStep | SmsStep): Promise<StepResult | { exit: string }>;
}

export interface SimulatedFlow {
  steps: readonly Step[];
  exitFilters: Filters;
  goal: string | null;
}

/** A step of the path. Times are in ISO 8601. */
export interface SimulatedStep {
  step_id: number;
  type: Step['type'];
  entered_at: string;
  left_at: string;
  outcome: string;
  detail: Readonly<Record<string, unknown>> | null;
}

export interface Course {
  path: SimulatedStep[];
  ends: { state: 'active' | 'completed' | 'exited'; reason: string; at: string };
}

type Branching = ConditionStep | WaitForEventStep;

/** Filters whose result is assumed. */
function assumedFilters(steps: readonly Step[], answers: Answers): Map<Filters, boolean> {
  const branching = allSteps(steps).filter(
    (step): step is Branching => step.type === 'condition' || step.type === 'wait_for_event',
  );
  const assumed = new Map<Filters, boolean>();
  for (const { id, filters } of branching) {
    const answer = answers.steps.get(id);
    if (filters && typeof answer === 'string') assumed.set(filters, answer === 'yes');
  }
  return assumed;
}

const later = (time: Date, seconds: number) => new Date(time.getTime() + 1_000 * seconds);

/** The state of a simulation, and the world of its interpreter. */
class Simulation implements World {
  asOf: Date;
  readonly path: SimulatedStep[] = [];
  /** When an event arrives for the wait of now; null: none will. */
  arrivesAt: Date | null = null;
  /** Webhook steps whose request is assumed to have been made. */
  readonly called = new Set<number>();
  readonly changes: Changes = { data: {}, lists: new Map(), events: [] };
  private readonly steps = new Map<number, StepFacts>();
  private arriving: ArrivedEvent[] = [];
  private readonly enteredAt: Date;
  private readonly flow: SimulatedFlow;
  private readonly facts: ContactFactsAt;
  private readonly answers: Answers;
  private readonly eventData: Readonly<Record<string, unknown>>;
  private readonly assumed: Map<Filters, boolean>;

  constructor(
    flow: SimulatedFlow,
    facts: ContactFactsAt,
    given: { at: Date; answers: Answers; eventData: Readonly<Record<string, unknown>> },
  ) {
    this.flow = flow;
    this.facts = facts;
    this.asOf = given.at;
    this.enteredAt = given.at;
    this.answers = given.answers;
    this.eventData = given.eventData;
    this.assumed = assumedFilters(flow.steps, given.answers);
  }

  private get moment(): Moment {
    return { asOf: this.asOf, changes: this.changes, steps: this.steps };
  }

  private answerOf(stepId: number): Exclude<Answer, string> {
    const answer = this.answers.steps.get(stepId);
    return typeof answer === 'object' ? answer : {};
  }

  async mustExit(): Promise<string | null> {
    const { exitFilters } = this.flow;
    if (exitFilters.length === 0) return null;
    return (await this.facts.matches(this.moment, exitFilters)) ? 'exit_filters' : null;
  }

  percentile(stepId: number): number {
    return this.facts.percentile(stepId);
  }

  async matches(filters: Filters, received?: ArrivedEvent): Promise<boolean> {
    return this.assumed.get(filters) ?? this.facts.matches(this.moment, filters, received);
  }

  timeOf(field: string): Promise<Date | null> {
    return this.facts.timeOf(this.moment, field);
  }

  timezone(): Promise<string> {
    return this.facts.timezone(this.moment);
  }

  quietUntil(): Promise<Date | null> {
    return this.facts.quietUntil(this.moment);
  }

  async send(step: EmailStep | SmsStep): Promise<StepResult | { exit: string }> {
    const result = await this.facts.send(step);
    if ('exit' in result || result.outcome !== 'sent') return result;
    const { opened = false, clicked = false } = this.answerOf(step.id);
    this.steps.set(step.id, {
      answer: null,
      openedAt: opened || clicked ? this.asOf : null,
      clickedAt: clicked ? this.asOf : null,
    });
    return result;
  }

  async trackEvent(step: Step & { type: 'event' }): Promise<StepResult> {
    const data = { ...(step.forward_event_data && this.eventData), ...step.data };
    this.changes.events.push({ name: step.event_name, data, at: this.asOf });
    return { outcome: 'done' };
  }

  async updateContact({ data }: UpdateContactStep): Promise<StepResult> {
    Object.assign(this.changes.data, data);
    return { outcome: 'done' };
  }

  async changeList({ type, list_id: listId }: ListStep): Promise<StepResult> {
    this.changes.lists.set(listId, type === 'add_to_list');
    return { outcome: 'done' };
  }

  /** Events that the run has tracked itself count if they are not from before; those of outside are assumed. */
  async awaitEvent(step: WaitForEventStep): Promise<readonly ArrivedEvent[]> {
    const answer = this.answers.steps.get(step.id);
    if (answer === 'no') return [];
    if (answer === 'yes') return [{ id: 0, data: {}, occurredAt: this.asOf }];
    const own = this.earlierEvents(step);
    if (!answer) return own;
    this.arrivesAt = later(this.asOf, answer.after_seconds ?? 0);
    this.arriving = [{ id: 0, data: answer.data ?? {}, occurredAt: this.arrivesAt }];
    return [...own, ...(await this.arrivals())];
  }

  private earlierEvents({ include_since: since, event_name: name }: WaitForEventStep): ArrivedEvent[] {
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

  async answer(stepId: number): Promise<StepResult | null> {
    if (!this.called.has(stepId)) return null;
    const { status = 200, body = null } = this.answerOf(stepId);
    const answer = { status, body };
    this.steps.set(stepId, { answer, openedAt: null, clickedAt: null });
    return { outcome: status >= 200 && status < 300 ? 'done' : 'failed', detail: answer };
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

/**
 * Follows the course of a run.
 * @param given when the contact enters, what is assumed, and the data of the event that starts the run
 */
export async function simulateRun(
  flow: SimulatedFlow,
  facts: ContactFactsAt,
  given: { at: Date; answers: Answers; eventData: Readonly<Record<string, unknown>> },
): Promise<Course> {
  const world = new Simulation(flow, facts, given);
  const ended = (state: Course['ends']['state'], reason: string): Course => ({
    path: world.path,
    ends: { state, reason, at: world.asOf.toISOString() },
  });
  const horizon = new Date(given.at);
  horizon.setUTCFullYear(horizon.getUTCFullYear() + MAX_SIMULATED_YEARS);
  const { goalAfterSeconds } = given.answers;
  const goalAt = goalAfterSeconds === null ? null : later(given.at, goalAfterSeconds);
  let record = firstRecord(given.at);
  while (world.path.length < MAX_SIMULATED_STEPS) {
    const halt = await advanceSteps(flow.steps, record, world);
    if (halt.halt === 'end') return ended(halt.state, halt.reason);
    record = halt.record;
    if (flow.goal !== null && world.changes.events.some(({ name }) => name === flow.goal)) {
      return ended('exited', 'goal');
    }
    if (halt.halt === 'call') world.called.add(halt.stepId);
    if (halt.halt !== 'wait' || !record.wait || record.wait.for === 'webhook') continue;
    const next = earliest([new Date(record.wait.until), world.arrivesAt, goalAt]);
    if (next > horizon) return ended('active', 'too_far_ahead');
    world.asOf = next;
    if (goalAt && next >= goalAt) return ended('exited', 'goal');
  }
  return ended('active', 'too_many_steps');
}
