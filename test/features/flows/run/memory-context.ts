/** A context of the interpreter in memory, and the loop that advances a run as its workflow does. */
import {
  advanceSteps,
  type ArrivedEvent,
  type AwaitedEvent,
  firstRecord,
  type Halt,
  type RunRecord,
  type StepResult,
  type RunContext,
} from '../../../../src/features/flows/run/interpreter.ts';
import { readDataTime } from '../../../../src/features/flows/run/contact-reads.ts';
import { readRecord } from '../../../../src/features/flows/run/record.ts';
import type { Step } from '../../../../src/features/flows/steps/index.ts';
import type { Filters, StoredStep } from '../../../../src/features/flows/steps/step.ts';
import {
  type ContactInMemory,
  fold,
  matches,
  parseFilters,
} from '../../../../src/features/segments/index.ts';
import type { ReferenceStep } from './reference.ts';
import { percentileIn, quietEnd, type Scenario } from './random-flows.ts';

/** What filters see of a run in memory. */
export interface FilterFacts {
  asOf: Date;
  data: Readonly<Record<string, unknown>>;
  lists: ReadonlySet<number>;
  trigger: unknown;
  received: unknown;
  answers: ReadonlyMap<number, unknown>;
}

/** Evaluates filters as the product does, with facts from memory instead of SQL. */
export function evaluate(filters: Filters, facts: FilterFacts): boolean {
  const { conditions, problems } = parseFilters(filters, { steps: null, received: true });
  if (problems.length > 0) throw new Error(JSON.stringify(problems));
  const folded = fold(
    { type: 'all', parts: conditions },
    {
      asOf: facts.asOf,
      valuesOf: (values) => (typeof values === 'object' ? facts.answers.get(values.step) : facts[values]),
      engagedAt: () => null,
    },
  );
  const contact = { data: facts.data, listIds: facts.lists, asOf: facts.asOf } as Partial<ContactInMemory>;
  return matches([folded], contact as ContactInMemory);
}

interface StreamEvent extends ArrivedEvent {
  name: string;
}

export class MemoryWorld implements RunContext {
  asOf: Date;
  readonly path: ReferenceStep[] = [];
  /** What was done, to see that nothing is done twice. */
  readonly effects: string[] = [];
  private readonly scenario: Scenario;
  private readonly data: Record<string, unknown>;
  private readonly lists: Set<number>;
  private readonly stream: StreamEvent[];
  private readonly answers = new Map<number, unknown>();
  readonly called = new Set<number>();
  /** The registered wait, and the events that it need not see again. */
  private awaited: { step: AwaitedEvent; seen: Set<number> } | null = null;

  constructor(scenario: Scenario) {
    this.scenario = scenario;
    this.asOf = scenario.enteredAt;
    this.data = { ...scenario.data };
    this.lists = new Set(scenario.lists);
    this.stream = scenario.events.map(({ name, after, data }, index) => ({
      id: index + 1,
      name,
      data,
      occurredAt: new Date(scenario.enteredAt.getTime() + after),
    }));
  }

  /** When the next event arrives for the registered wait; null: none does. */
  get nextArrival(): Date | null {
    const { awaited } = this;
    if (!awaited) return null;
    const coming = this.stream.filter(
      ({ id, name, occurredAt }) =>
        name === awaited.step.event_name && !awaited.seen.has(id) && occurredAt > this.asOf,
    );
    return coming.reduce<Date | null>(
      (first, { occurredAt }) => (first && first < occurredAt ? first : occurredAt),
      null,
    );
  }

  mustExit = async () => {
    const { exitFilters } = this.scenario;
    return exitFilters.length > 0 && (await this.matches(exitFilters)) ? 'exit_filters' : null;
  };
  percentile = percentileIn;
  matches = async (filters: Filters, received?: ArrivedEvent) =>
    evaluate(filters, {
      asOf: this.asOf,
      data: this.data,
      lists: this.lists,
      trigger: this.scenario.trigger,
      received: received?.data,
      answers: this.answers,
    });
  timeOf = async (field: string) => readDataTime(this.data[field.slice('data.'.length)], null);
  timezone = async () => this.scenario.timezone;
  quietUntil = async () => quietEnd(this.scenario, this.asOf);

  act(step: Step): Promise<StepResult | { exit: string }> {
    switch (step.type) {
      case 'email':
      case 'sms':
        return this.send(step);
      case 'event':
        return this.trackEvent(step);
      case 'update_contact':
        return this.updateContact(step);
      case 'add_to_list':
      case 'remove_from_list':
        return this.changeList(step);
      default:
        throw new Error(`steps of type ${step.type} do not act`);
    }
  }

  private async send(step: Step): Promise<StepResult | { exit: string }> {
    this.effects.push(`send ${step.id}`);
    const { sends } = this.scenario;
    if (sends === 'unsubscribed') return { exit: sends };
    return sends === 'sent' ? { outcome: 'sent' } : { outcome: 'skipped', detail: { reason: sends } };
  }

  private async trackEvent(step: Step & { type: 'event' }): Promise<StepResult> {
    this.effects.push(`event ${step.id}`);
    const data = { ...(step.forward_event_data && this.scenario.trigger), ...step.data };
    this.stream.push({ id: this.stream.length + 1, name: step.event_name, data, occurredAt: this.asOf });
    return { outcome: 'done' };
  }

  private async updateContact(step: Step & { type: 'update_contact' }): Promise<StepResult> {
    this.effects.push(`update ${step.id}`);
    for (const [key, value] of Object.entries(step.data)) {
      if (value === null) delete this.data[key];
      else this.data[key] = value;
    }
    return { outcome: 'done' };
  }

  private async changeList(step: Step & { type: 'add_to_list' | 'remove_from_list' }): Promise<StepResult> {
    this.effects.push(`list ${step.id}`);
    if (step.type === 'add_to_list') this.lists.add(step.list_id);
    else this.lists.delete(step.list_id);
    return { outcome: 'done' };
  }

  async awaitEvent(step: AwaitedEvent): Promise<ArrivedEvent[]> {
    const since = this.since(step);
    const before = this.stream.filter(({ occurredAt }) => occurredAt < since);
    this.awaited = { step, seen: new Set(before.map(({ id }) => id)) };
    return this.take();
  }

  private since({ include_since: since }: AwaitedEvent): Date {
    if (since === undefined) return this.asOf;
    if (since === 'entry') return this.scenario.enteredAt;
    const left = this.path.find((done) => done.step_id === since.step);
    return left ? new Date(left.left_at) : this.asOf;
  }

  private take(): ArrivedEvent[] {
    const { awaited } = this;
    if (!awaited) throw new Error('no wait is registered');
    const come = this.stream.filter(
      ({ id, name, occurredAt }) =>
        name === awaited.step.event_name && !awaited.seen.has(id) && occurredAt <= this.asOf,
    );
    for (const { id } of come) awaited.seen.add(id);
    return come.sort((one, other) => one.occurredAt.getTime() - other.occurredAt.getTime());
  }

  arrivals = async () => this.take();

  async endAwait(): Promise<void> {
    this.awaited = null;
  }

  async answer({ id: stepId }: StoredStep): Promise<StepResult | null> {
    if (!this.called.has(stepId)) return null;
    const status = this.scenario.statuses[stepId % 3];
    this.answers.set(stepId, { status });
    return { outcome: status === 200 ? 'done' : 'failed', detail: { status } };
  }

  async record(step: Step, place: number, arrived: Date, result: StepResult): Promise<void> {
    if (place !== this.path.length) throw new Error(`the place is ${place} instead of ${this.path.length}`);
    this.path.push({
      step_id: step.id,
      entered_at: arrived.toISOString(),
      left_at: this.asOf.toISOString(),
      outcome: result.outcome,
    });
  }
}

/** How the workflow of a run behaves. */
export interface Clockwork {
  /** Fractions of a wait at which the run is woken though nothing has happened. */
  spurious: readonly number[];
}

/** Advances a run to its end. Between two advances, its record is stored. */
export async function runInMemory(
  scenario: Scenario,
  { spurious }: Clockwork = { spurious: [] },
): Promise<{ context: MemoryWorld; end: Halt & { halt: 'end' } }> {
  const context = new MemoryWorld(scenario);
  let record: RunRecord = firstRecord(scenario.enteredAt);
  const advance = () => advanceSteps(scenario.steps, readRecord(JSON.parse(JSON.stringify(record))), context);
  for (;;) {
    const halt = await advance();
    if (halt.halt === 'end') return { context, end: halt };
    ({ record } = halt);
    if (halt.halt === 'call') context.called.add(halt.stepId);
    if (halt.halt !== 'wait' || !record.wait || record.wait.for === 'webhook') continue;
    const due = new Date(record.wait.until);
    const arrival = context.nextArrival;
    const next = arrival && arrival < due ? arrival : due;
    const begun = context.asOf.getTime();
    for (const part of spurious) {
      context.asOf = new Date(begun + Math.floor(part * (next.getTime() - begun - 1)));
      const again = await advance();
      if (again.halt !== 'wait') throw new Error(`a run that waits ended with ${again.halt}`);
      record = again.record;
    }
    context.asOf = next;
  }
}
