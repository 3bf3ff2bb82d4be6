/**
 * A run, implemented as plainly as possible: it recurses through the steps and computes the times, without records,
 * waits and arrivals. It shares nothing with the interpreter but the types of steps.
 */
import type { Step } from '../../../../src/features/flows/steps/index.ts';
import { fixedZones, percentileIn, quietEnd, type Scenario } from './random-flows.ts';

export interface ReferenceStep {
  step_id: number;
  entered_at: string;
  left_at: string;
  outcome: string;
}

export interface ReferencePath {
  path: ReferenceStep[];
  state: 'completed' | 'exited';
  reason: string;
  at: string;
  /** Of `wait_for_event` steps that went on with an event: when it had happened, and whether the flow had tracked it. */
  taken: Map<number, { at: number; own: boolean; data: Record<string, unknown> }>;
}

/** Thrown to leave all branches. */
class Exit extends Error {
  readonly reason: string;
  constructor(reason: string) {
    super(reason);
    this.reason = reason;
  }
}

interface PlainFilter {
  name: string;
  predicate: string;
  value?: unknown;
}

const iso = (time: number) => new Date(time).toISOString();
const DAY = 86_400_000;

class Reference {
  now: number;
  readonly path: ReferenceStep[] = [];
  readonly taken: ReferencePath['taken'] = new Map();
  private readonly scenario: Scenario;
  private readonly data: Record<string, unknown>;
  private readonly lists: Set<number>;
  private readonly answers = new Map<number, number>();
  private readonly events: { name: string; at: number; data: Record<string, unknown>; own: boolean }[];

  private readonly percentile: (step: number) => number;

  constructor(scenario: Scenario, percentile: (step: number) => number) {
    this.scenario = scenario;
    this.percentile = percentile;
    this.now = scenario.enteredAt.getTime();
    this.data = { ...scenario.data };
    this.lists = new Set(scenario.lists);
    this.events = scenario.events.map(({ name, after, data }) => ({
      name,
      data,
      at: scenario.enteredAt.getTime() + after,
      own: false,
    }));
  }

  private value(name: string, received: Record<string, unknown> | null): unknown {
    const [source, key = '', last] = name.split('.');
    if (source === 'data') return this.data[key];
    if (source === 'trigger') return this.scenario.trigger[key];
    if (source === 'received') return received?.[key];
    return last === 'status' ? this.answers.get(Number(key)) : undefined;
  }

  private holds({ name, predicate, value }: PlainFilter, received: Record<string, unknown> | null): boolean {
    if (name === 'any') return (value as PlainFilter[]).some((one) => this.holds(one, received));
    if (name === 'list') {
      const isIn = (value as number[]).some((id) => this.lists.has(id));
      return predicate === 'in' ? isIn : !isIn;
    }
    const found = this.value(name, received) ?? null;
    if (predicate === 'present') return found !== null;
    if (predicate === 'blank') return found === null;
    if (predicate === 'gteq') return found !== null && (found as number) >= (value as number);
    return predicate === 'eq' ? found === value : found !== value;
  }

  private allHold(filters: readonly unknown[], received: Record<string, unknown> | null = null): boolean {
    return filters.every((filter) => this.holds(filter as PlainFilter, received));
  }

  private leaveIfAsked(): void {
    const { exitFilters } = this.scenario;
    if (exitFilters.length > 0 && this.allHold(exitFilters)) throw new Exit('exit_filters');
  }

  private localTime(until: { time: string; weekdays?: readonly number[]; timezone?: string }): number {
    const zone =
      until.timezone === undefined || until.timezone === 'contact' ? this.scenario.timezone : until.timezone;
    const shift = (fixedZones[zone] as number) * 60_000;
    const [hour, minute] = until.time.split(':').map(Number) as [number, number];
    const midnight = Math.floor((this.now + shift) / DAY) * DAY;
    for (let day = 0; ; day += 1) {
      const date = midnight + day * DAY;
      const at = date + (hour * 60 + minute) * 60_000 - shift;
      const weekday = ((new Date(date).getUTCDay() + 6) % 7) + 1;
      if (at > this.now && (!until.weekdays || until.weekdays.includes(weekday))) return at;
    }
  }

  private wait(step: Step & { type: 'wait' }): string {
    if ('duration' in step) {
      this.now += step.duration * 1_000;
      return 'done';
    }
    if ('time' in step.until) {
      this.now = this.localTime(step.until);
      return 'done';
    }
    const { field, offset_seconds: offset = 0 } = step.until;
    const text = this.data[field.slice('data.'.length)];
    if (text === undefined || text === null) return 'missing';
    const time = typeof text === 'string' ? Date.parse(text) : NaN;
    if (Number.isNaN(time)) return 'unreadable';
    if (time + offset * 1_000 <= this.now) return 'passed';
    this.now = time + offset * 1_000;
    return 'done';
  }

  private waitForEvent(step: Step & { type: 'wait_for_event' }): boolean {
    const end = this.now + step.duration * 1_000;
    let from = this.now;
    if (step.include_since === 'entry') from = this.scenario.enteredAt.getTime();
    else if (step.include_since) {
      const { step: id } = step.include_since;
      const left = this.path.find((done) => done.step_id === id);
      if (left) from = Date.parse(left.left_at);
    }
    const inTime = this.events.filter(({ name, at }) => name === step.event_name && at >= from && at <= end);
    const first = [...inTime]
      .sort((one, other) => one.at - other.at)
      .find(({ data }) => this.allHold(step.filters ?? [], data));
    if (!first) {
      this.now = end;
      return false;
    }
    this.now = Math.max(this.now, first.at);
    this.taken.set(step.id, first);
    return true;
  }

  private send(): string {
    for (let end = this.quiet(); end !== null; end = this.quiet()) {
      this.now = end;
      this.leaveIfAsked();
    }
    if (this.scenario.sends === 'sent') return 'sent';
    return 'skipped';
  }

  private quiet(): number | null {
    return quietEnd(this.scenario, new Date(this.now))?.getTime() ?? null;
  }

  private branchOf(step: Step & { type: 'split' }): number {
    let upTo = 0;
    for (const [n, { weight }] of step.branches.entries()) {
      upTo += weight;
      if (this.percentile(step.id) < upTo) return n;
    }
    throw new Error('the weights do not add up to 100');
  }

  /** Does what has no branches. @returns the outcome */
  private act(step: Step): string {
    switch (step.type) {
      case 'email':
      case 'sms':
        return this.send();
      case 'wait':
        return this.wait(step);
      case 'event': {
        const data = { ...(step.forward_event_data ? this.scenario.trigger : {}), ...step.data };
        this.events.push({ name: step.event_name, at: this.now, data, own: true });
        return 'done';
      }
      case 'update_contact':
        for (const [key, value] of Object.entries(step.data)) {
          if (value === null) delete this.data[key];
          else this.data[key] = value;
        }
        return 'done';
      case 'add_to_list':
        this.lists.add(step.list_id);
        return 'done';
      case 'remove_from_list':
        this.lists.delete(step.list_id);
        return 'done';
      case 'webhook':
        this.answers.set(step.id, this.scenario.statuses[step.id % 3] as number);
        return this.answers.get(step.id) === 200 ? 'done' : 'failed';
      case 'exit':
        return 'exit';
      default:
        throw new Error('has branches');
    }
  }

  private exitOf(step: Step, outcome: string): string | null {
    if (step.type === 'exit') return step.reason ?? 'exit';
    if (step.type === 'wait' && 'until' in step && 'field' in step.until) {
      const { if_past, if_unreadable } = step.until;
      if (outcome === 'unreadable') return if_unreadable === 'continue' ? null : 'date_unreadable';
      if (if_past === 'exit' && (outcome === 'missing' || outcome === 'passed')) return `date_${outcome}`;
    }
    const sends = step.type === 'email' || step.type === 'sms';
    return sends && outcome === 'skipped' && this.scenario.sends === 'unsubscribed' ? 'unsubscribed' : null;
  }

  run(steps: readonly Step[]): void {
    for (const step of steps) {
      this.leaveIfAsked();
      const entered = this.now;
      const done = (outcome: string) =>
        void this.path.push({ step_id: step.id, entered_at: iso(entered), left_at: iso(this.now), outcome });
      if (step.type === 'condition') {
        const holds = this.allHold(step.filters);
        done(holds ? 'yes' : 'no');
        this.run(holds ? step.yes : step.no);
      } else if (step.type === 'wait_for_event') {
        const came = this.waitForEvent(step);
        done(came ? 'yes' : 'timeout');
        this.run(came ? step.yes : step.no);
      } else if (step.type === 'split') {
        const n = this.branchOf(step);
        done(`branch ${n + 1}`);
        this.run(step.branches[n]?.steps ?? []);
      } else {
        const outcome = this.act(step);
        done(outcome);
        const reason = this.exitOf(step, outcome);
        if (reason !== null) throw new Exit(reason);
      }
    }
  }
}

/** The path of a run. @param percentile where the contact is in a split */
export function referencePath(scenario: Scenario, percentile = percentileIn): ReferencePath {
  const reference = new Reference(scenario, percentile);
  let end: Pick<ReferencePath, 'state' | 'reason'> = { state: 'completed', reason: 'end' };
  try {
    reference.run(scenario.steps);
  } catch (error) {
    if (!(error instanceof Exit)) throw error;
    end = { state: 'exited', reason: error.reason };
  }
  return { path: reference.path, ...end, at: iso(reference.now), taken: reference.taken };
}
