import type { z } from 'zod';
import type { Channel } from '../../../delivery/terms/message.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { TrackedEventConsumer } from '../../contact-events/service.ts';
import type { StepName } from '../../segments/index.ts';
import type { ListedTemplateRow } from '../../templates/service.ts';
import type { StepOutput } from '../filters.ts';
import type { StepDecision, RunWait, StepResult, RunContext } from '../run/interpreter.ts';
import type { CauseEvent, LoadedRun } from '../run/load.ts';
import type { Step } from './index.ts';

/** What steps of requests and stored steps share. A step that a client adds has no id yet. */
export interface AnyStep {
  type: string;
  id?: number | undefined;
}

export interface StoredStep extends AnyStep {
  id: number;
}

/** Filters as a client wrote them. They are checked when the flow is saved, and parsed again for each evaluation. */
export type Filters = readonly unknown[];

/**
 * A type of step. Each type is one file in this folder and one line of the list in `index.ts`; reading, storing,
 * presenting, running and simulating steps and the description of the API derive from that list.
 *
 * @typeParam S a step as it is stored in `flows.steps` and, unchanged for ever, in `flow_versions.steps`
 * @typeParam A what a client may assume of a step in a simulation
 */
export interface StepType<S extends StoredStep = StoredStep, A extends object = object> {
  readonly type: S['type'];

  /** The shape that clients write, without branches; see `stepShape`. */
  readonly shape: z.ZodObject;
  /**
   * Returns a field whose shape depends on its value, so that errors can name fields inside it. `shape` only describes
   * it.
   */
  fieldToRead?(given: object): { field: string; value: object; shape: z.ZodType } | null;
  readonly branches?: Branches;
  /** What the step names. Also called for steps of requests. */
  references?(step: S): References;
  /**
   * The channel of the messages that the step sends. Such a step has its own template in `template_id`, which stores
   * the content that clients write.
   */
  readonly sends?: Channel;

  /** The fields that clients read, without branches. A name has the same schema in all types that have it. */
  readonly presented: Readonly<Record<string, z.ZodType>>;
  /** Fields that are not stored with the step. @param content the step's template; undefined if it has none */
  present?(step: S, content: ListedTemplateRow | undefined): object;

  /** Decides what a run does at the step. Called again when a wait may have ended. */
  run(step: S, at: StepVisit): Promise<StepDecision>;
  /**
   * The event that runs wait for at the step. They take its first branch if the event arrives, its second otherwise.
   */
  awaits?(step: S): string;
  /**
   * Acts on behalf of {@link RunContext.act}, in the run's transaction.
   * @returns what was done, or `exit` with a reason if the run must end
   */
  act?(step: S, acting: Acting): Promise<StepResult | { exit: string }>;
  /**
   * Whether `act` changes what transactions of other contacts wait for or see, such as events and lists. In a cohort, a
   * run takes such a step in a transaction of its own.
   */
  readonly alone?: true;
  /**
   * Whether the `detail` that the step leaves in the path is an output that filters can name, as `step.<id>.<path>`.
   */
  readonly leavesAnswer?: true;

  /** Returns what `act` would do, or how an endpoint would respond. It writes nothing. */
  simulate?(step: S, simulating: Simulating<A>): StepResult | Promise<StepResult | { exit: string }>;
  readonly assumptions?: Assumptions;
}

/** How a type of step stores its branches. */
export interface Branches {
  /** The fields that clients write. @param branch the shape of the steps of a branch */
  fields(branch: z.ZodType): z.ZodRawShape;
  /** The fields that clients read. @param steps the schema of the steps of a branch */
  presented(steps: () => z.ZodType): Readonly<Record<string, z.ZodType>>;
  /**
   * Replaces the steps of each branch.
   * @param step as a client wrote it or as it is stored; fields of the wrong shape are left as they are
   * @param change also receives the branch's name in paths, such as `yes` or `branches.0.steps`
   * @returns the fields to replace
   */
  map(step: object, change: (steps: unknown, name: string) => unknown): object;
}

/** What a step names. It is checked in requests and when a flow is activated. */
export interface References {
  /** A list of the brand, in the field `list_id`. */
  listId?: number;
  /** The filters in the field `filters`. */
  filters?: Filters;
  /** Whether the filters apply to an event that arrives, and may name `received.<path>`. */
  received?: boolean;
  /** A preceding step and the field that names it. `withId` returns the field with the step's id instead of its ref. */
  before?: { step: StepName; field: string; withId: (id: number) => object };
}

/** The position of a run that reaches a step, or continues there after a wait. */
export interface StepVisit {
  /** The step after this one and its branches; null if the run ends here. */
  next: Step | null;
  /** What the run has waited for at the step; null if it has just reached it. */
  wait: RunWait | null;
  context: RunContext;
}

/** What a step works with inside the transaction of a run. */
export interface Acting {
  trx: Queryable;
  run: ActingRun;
  asOf: Date;
  /** The consumers of tracked events. */
  consumers: readonly TrackedEventConsumer[];
  /** Functions to call after the commit; the step adds its own. */
  afterCommit: (() => void)[];
  /** Queues the message of a step. */
  send: (message: { id: number; channel: Channel }) => Promise<StepResult | { exit: string }>;
  /** Call it before taking a lock for which other transactions wait: this transaction then takes no further step. */
  holdLocks: () => void;
}

/**
 * What steps read of the run. Test runs track test events, and do not change contacts and lists, because live flows use
 * these, too.
 */
export type ActingRun = Pick<
  LoadedRun,
  'id' | 'account_id' | 'brand_id' | 'contact_id' | 'test' | 'chain_depth'
> & {
  /** The event that started the run. */
  event: Partial<Pick<CauseEvent, 'data' | 'mail'>> | null;
};

/** What a step of a simulated run works with. */
export interface Simulating<A extends object = object> {
  asOf: Date;
  changes: Changes;
  /** The data of the event that starts the run. */
  eventData: Readonly<Record<string, unknown>>;
  /** What the client assumes about the step, in the fields of {@link Assumptions}. */
  assumed: Partial<A>;
  /** Whether the contact would get a message. */
  send: (channel: Channel) => Promise<StepResult | { exit: string }>;
  /** Stores the output of the step for later filters. */
  leave: (facts: StepOutput) => void;
}

/** What a simulated run has changed so far. */
export interface Changes {
  data: Record<string, unknown>;
  lists: Map<number, boolean>;
  events: { name: string; data: Readonly<Record<string, unknown>>; at: Date }[];
}

/** What a client may assume about a step in a simulation, in `answers.steps`. */
export interface Assumptions {
  /** Whether `"yes"` and `"no"` are allowed: the result of the step's filters. */
  yesNo: boolean;
  fields: z.ZodRawShape;
  /** The text for the API description. */
  description: string;
}

/** Whether a run has begun to wait for an event. A new version of the flow may have changed the event of its step. */
export function isForEvent(wait: RunWait | null, eventName: string): wait is RunWait & { for: 'event' } {
  return wait?.for === 'event' && wait.eventName === eventName;
}

/** Acts, and continues with the next step. */
export async function actAndGoOn(step: StoredStep, { next, context }: StepVisit): Promise<StepDecision> {
  const result = await context.act(step);
  if (!('exit' in result)) return { result, next };
  return { result: { outcome: 'skipped', detail: { reason: result.exit } }, next, exit: result.exit };
}
