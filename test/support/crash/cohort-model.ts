/**
 * A model of the runs of a {@link CohortFlow}, computed from what the contacts did and when each run left its steps. It
 * shares nothing with the interpreter.
 */
import {
  type Asked,
  CAP,
  type CohortFlow,
  goalOf,
  isEven,
  type Kind,
  NEWS,
  ORDER_SECONDS,
  orderOf,
  PAID_SECONDS,
  paidOf,
  PAUSE_SECONDS,
  STEP,
} from './cohort-flow.ts';

export interface PathStep {
  step_id: number;
  n: number;
  type: string;
  outcome: string;
  reason: string | null;
  message_id: number | null;
  event_id: number | null;
  /** ISO 8601, as left_at. */
  entered_at: string;
  left_at: string;
}

export interface TrackedEvent {
  id: number;
  name: string;
  total: number | null;
  created_at: string;
}

/** A run, with all that its contact did. */
export interface RunFacts {
  id: number;
  n: number;
  contactId: number;
  state: string;
  reason: string | null;
  /** Number of its version, from 1. */
  version: number;
  enteredAt: string;
  path: PathStep[];
  events: TrackedEvent[];
  /** Its messages, by step. */
  messages: { id: number; stepId: number }[];
  tier: string | null;
  isListed: boolean;
  doneEvents: number;
}

/** What was done to the flow, and to contacts: each with the time before and after. */
export interface History {
  pauses: { paused: Asked; resumed: Asked }[];
  /** `moved`: when all active runs had the second version. */
  change: Asked & { moved: Date };
  leaves: ReadonlyMap<number, Asked>;
  deletions: ReadonlyMap<number, Asked>;
}

/** The path of the run ends before this step. */
class PathEnded extends Error {}

class Exited extends Error {}

/** How long a transaction that writes an event may take, in ms: the event's time is that of its beginning. */
const WRITING_MS = 2_000;

const timeOf = (text: string) => new Date(text).getTime();

/** Follows the path of one run, and notes what a run must not do. */
class Model {
  readonly faults: string[] = [];
  private place = 0;
  private sent = 0;
  private at: number | null = null;
  private readonly facts: RunFacts;
  private readonly flow: CohortFlow;
  private readonly history: History;
  private readonly kind: Kind;

  constructor(facts: RunFacts, kind: Kind, flow: CohortFlow, history: History) {
    this.facts = facts;
    this.kind = kind;
    this.flow = flow;
    this.history = history;
  }

  require(holds: boolean, fault: string): void {
    if (!holds) this.faults.push(fault);
  }

  private get isDeleted(): boolean {
    return this.history.deletions.has(this.facts.n);
  }

  /** The next step of the path, which must be this one. @throws PathEnded */
  private take(id: number, type: string, outcomes: readonly string[]): PathStep {
    const step = this.facts.path[this.place];
    if (!step) throw new PathEnded();
    const { step_id: stepId, n, outcome, entered_at: entered, left_at: left } = step;
    this.require(stepId === id && step.type === type, `step ${stepId} in place of ${id}`);
    this.require(n === this.place, `place ${n} of step ${stepId} in place of ${this.place}`);
    // A contact may be deleted while the step is taken.
    const isCut = this.isDeleted && outcome === 'skipped';
    this.require(
      isCut || outcomes.includes(outcome),
      `step ${id}: ${outcome} in place of ${outcomes.join()}`,
    );
    this.require(this.at === null || timeOf(entered) === this.at, `step ${id} entered at ${entered}`);
    this.require(timeOf(left) >= timeOf(entered), `step ${id} left before it was entered`);
    for (const { paused, resumed } of this.history.pauses) {
      const isPaused = timeOf(left) > paused.answered.getTime() && timeOf(left) < resumed.asked.getTime();
      this.require(
        !isPaused,
        `step ${id} left at ${left}, while the flow was paused at ${paused.answered.toISOString()}`,
      );
    }
    this.at = timeOf(left);
    this.place += 1;
    return step;
  }

  private email(id: number): void {
    if (!this.kind.subscribed) {
      this.take(id, 'email', ['skipped']);
      throw new Exited('unsubscribed');
    }
    const isCapped = this.sent === CAP;
    const step = this.take(id, 'email', [isCapped ? 'skipped' : 'sent']);
    const { message_id: messageId, left_at: left, outcome, reason } = step;
    if (isCapped) this.require(reason === 'frequency_cap' || this.isDeleted, `step ${id}: ${reason}`);
    if (outcome === 'sent') this.sent += 1;
    this.require((outcome === 'sent') === (messageId !== null), `step ${id}: message ${messageId}`);
    const messages = this.facts.messages.filter(({ stepId }) => stepId === id);
    const expected = messageId === null ? [] : [messageId];
    this.require(
      JSON.stringify(messages.map((message) => message.id)) === JSON.stringify(expected),
      `step ${id}: messages ${messages.map((message) => message.id).join()} in place of ${expected.join()}`,
    );
    const isQuiet = this.kind.quiet && timeOf(left) < this.flow.quietEnd.getTime();
    this.require(!isQuiet, `step ${id} sent at ${left}, in quiet hours`);
  }

  private wait(id: number, seconds: number): void {
    const { entered_at: entered, left_at: left } = this.take(id, 'wait', ['done']);
    this.require(timeOf(left) >= timeOf(entered) + 1_000 * seconds, `step ${id} left early: ${left}`);
  }

  /** @returns whether an event came */
  private waitForEvent(id: number, name: string, seconds: number, since: 'entry' | null): boolean {
    const {
      entered_at: entered,
      left_at: left,
      outcome,
      event_id: eventId,
    } = this.take(id, 'wait_for_event', ['yes', 'timeout']);
    const from = since === 'entry' ? timeOf(this.facts.enteredAt) : timeOf(entered);
    const until = timeOf(entered) + 1_000 * seconds;
    const accepted = this.facts.events.filter(
      (event) => event.name === name && (event.total === null || event.total >= 10),
    );
    // The events of deleted contacts are deleted.
    if (this.isDeleted) return outcome === 'yes';
    if (outcome === 'yes') {
      // After a crash, the run may have been at the step before its wait began.
      const event = accepted.find(
        ({ created_at: at }) =>
          timeOf(at) >= from - WRITING_MS && timeOf(at) <= Math.max(until, timeOf(left)),
      );
      this.require(event?.id === eventId, `step ${id} took event ${eventId} in place of ${event?.id}`);
      return true;
    }
    const missed = accepted.find(
      ({ created_at: at }) => timeOf(at) >= from && timeOf(at) <= until - WRITING_MS,
    );
    this.require(!missed, `step ${id} did not take event ${missed?.id}`);
    this.require(timeOf(left) >= until, `step ${id} left early: ${left}`);
    return false;
  }

  /** Takes the step of the second version, if the run was moved before it. */
  private news(): void {
    const { change } = this.history;
    const at = this.at ?? 0;
    const isTaken = this.facts.path[this.place]?.step_id === NEWS;
    const isLast = this.place === this.facts.path.length;
    if (this.facts.version === 1 || at < change.asked.getTime()) this.require(!isTaken, 'news of version 2');
    else if (at > change.moved.getTime()) this.require(isTaken || isLast, 'no news of version 2');
    if (isTaken) this.email(NEWS);
  }

  private steps(): void {
    this.email(STEP.welcome);
    this.wait(STEP.pause, PAUSE_SECONDS);
    const { pro, patient } = this.kind;
    this.take(STEP.plan, 'condition', [pro ? 'yes' : 'no']);
    if (pro) this.email(STEP.pro);
    else this.take(STEP.free, 'update_contact', ['done']);
    this.take(STEP.webhook, 'webhook', ['done']);
    const even = isEven(this.facts.contactId);
    this.take(STEP.even, 'condition', [even ? 'yes' : 'no']);
    if (even) this.take(STEP.list, 'add_to_list', ['done']);
    if (this.waitForEvent(STEP.order, orderOf(this.flow.seed), ORDER_SECONDS, 'entry')) {
      this.email(STEP.ordered);
    } else {
      this.take(STEP.patience, 'condition', [patient ? 'yes' : 'no']);
      if (patient) this.email(STEP.waited);
      else {
        this.take(STEP.gaveUp, 'exit', ['exit']);
        throw new Exited('gave_up');
      }
    }
    const { outcome } = this.take(STEP.split, 'split', ['branch 1', 'branch 2']);
    this.email(outcome === 'branch 1' ? STEP.one : STEP.two);
    this.news();
    this.waitForEvent(STEP.paid, paidOf(this.flow.seed), PAID_SECONDS, null);
    this.take(STEP.done, 'event', ['done']);
  }

  /** How the run must end according to its steps; null: it ended between two of them. */
  private walk(): string | null {
    try {
      this.steps();
      return 'completed end';
    } catch (error) {
      if (error instanceof Exited) return `exited ${error.message}`;
      if (error instanceof PathEnded) return null;
      throw error;
    }
  }

  /** No step was left after this time, apart from as many as given. */
  private requireEndedBy(time: Date, what: string, further = 0): void {
    const late = this.facts.path.filter(({ left_at: left }) => timeOf(left) > time.getTime() + WRITING_MS);
    this.require(late.length <= further, `${late.length} steps after ${what}`);
  }

  private judgeEnd(): void {
    const { n, state, reason, path, events } = this.facts;
    const end = `${state} ${reason}`;
    const byStep = this.walk();
    this.require(this.place === path.length, `${path.length - this.place} further steps`);
    const goal = events.find(({ name }) => name === goalOf(this.flow.seed));
    const leave = this.history.leaves.get(n);
    const deletion = this.history.deletions.get(n);
    const others = new Set([
      ...(goal || this.isDeleted ? ['exited goal'] : []),
      ...(leave ? ['exited exit_filters'] : []),
      ...(deletion ? ['exited contact_deleted'] : []),
    ]);
    this.require(
      byStep === null ? others.has(end) : end === byStep,
      `ended as ${end} after ${path.length} steps`,
    );
    if (goal) this.requireEndedBy(new Date(goal.created_at), 'the goal');
    // The exit filters are not read during a wait, so its step may still be left.
    if (leave) this.requireEndedBy(leave.answered, 'the exit filters', 1);
    if (deletion) this.requireEndedBy(deletion.answered, 'the deletion');
  }

  private judgeEffects(): void {
    const { path, messages, tier, isListed, doneEvents } = this.facts;
    const has = (id: number) => path.some(({ step_id: stepId }) => stepId === id);
    const sent = path.filter(({ message_id: id }) => id !== null).length;
    this.require(messages.length === sent, `${messages.length} messages of ${sent} steps`);
    if (this.isDeleted) return;
    this.require((tier === 'free') === has(STEP.free), `tier ${tier}`);
    this.require(isListed === has(STEP.list), `in the list: ${isListed}`);
    this.require(doneEvents === Number(has(STEP.done)), `tracked ${doneEvents} times`);
  }

  judge(): string[] {
    this.judgeEnd();
    this.judgeEffects();
    return this.faults.map((fault) => `run ${this.facts.id} (contact ${this.facts.n}): ${fault}`);
  }
}

/** What a run did that the model does not do, in sentences. */
export function faultsOfRun(facts: RunFacts, kind: Kind, flow: CohortFlow, history: History): string[] {
  return new Model(facts, kind, flow, history).judge();
}
