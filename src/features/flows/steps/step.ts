import type { z } from 'zod';
import type { Channel } from '../../../delivery/message.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { TrackedEventConsumer } from '../../contact-events/service.ts';
import type { ListedTemplateRow } from '../../templates/service.ts';
import type { StepOutput } from '../filters.ts';
import type { Move, RunWait, StepResult, RunContext } from '../run/interpreter.ts';
import type { LoadedRun } from '../run/load.ts';
import type { Step } from './index.ts';

/** What steps of requests and stored steps have in common. A step that a client adds has no id yet. */
export interface AnyStep {
  type: string;
  id?: number | undefined;
}

export interface StoredStep extends AnyStep {
  id: number;
}

/** Filters as a client wrote them: they were parsed when the flow was saved, and are parsed again by each evaluation. */
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

  /** What clients write, without branches; see `stepShape`. */
  readonly shape: z.ZodObject;
  /** Returns a field whose shape depends on its value, so that errors name the fields inside. `shape` only describes it. */
  fieldToRead?(given: object): { field: string; value: object; shape: z.ZodType } | null;
  readonly branches?: Branches;
  /** What the step names. Also asked for steps of requests. */
  references?(step: S): References;
  /**
   * The channel of the messages that the step sends. Such a step has a template of its own in `template_id`, which has the
   * content that clients write.
   */
  readonly sends?: Channel;

  /** The fields that clients read, beside branches. Types that share a name share the schema. */
  readonly presented: Readonly<Record<string, z.ZodType>>;
  /** Fields that are not stored with the step. @param content the step's template; undefined: it has none */
  present?(step: S, content: ListedTemplateRow | undefined): object;

  /** Decides what a run does at the step. Asked again when a wait may have ended. */
  run(step: S, at: Place): Promise<Move>;
  /** The event that runs wait for at the step. Its first branch is taken with the event, its second without. */
  awaits?(step: S): string;
  /**
   * Acts on behalf of {@link RunContext.act}, in the transaction of the run.
   * @returns what was done, or `exit` with a reason if the run must end
   */
  act?(step: S, acting: Acting): Promise<StepResult | { exit: string }>;
  /** Whether the `detail` that the step leaves in the path is an answer, which filters name as `step.<id>.<path>`. */
  readonly leavesAnswer?: true;

  /** What `act` would do, or what would be answered from outside. It writes nothing. */
  simulate?(step: S, simulating: Simulating<A>): StepResult | Promise<StepResult | { exit: string }>;
  readonly assumptions?: Assumptions;
}

/** How a step has its branches. */
export interface Branches {
  /** The fields that clients write. @param branch the shape of the steps of a branch */
  fields(branch: z.ZodType): z.ZodRawShape;
  /** The fields that clients read. @param steps the schema of the steps of a branch */
  presented(steps: () => z.ZodType): Readonly<Record<string, z.ZodType>>;
  /**
   * Replaces the steps of each branch.
   * @param step as a client wrote it or as it is stored: fields of the wrong shape stay as they are
   * @param change also receives the name that paths have for the branch: `yes`, `branches.0.steps`
   * @returns the fields to replace
   */
  map(step: object, change: (steps: unknown, name: string) => unknown): object;
}

/** What a step names. Steps of requests are checked for it, and those of flows that are activated. */
export interface References {
  /** A list of the brand, in the field `list_id`. */
  listId?: number;
  /** In the field `filters`. */
  filters?: Filters;
  /** Whether the filters are those of an event that arrives: they may name `received.<path>`. */
  received?: boolean;
  /** A step that comes before, and the field that names it. */
  before?: { step: number; field: string };
}

/** Where a run is when it comes to a step, or returns to it after a wait. */
export interface Place {
  /** The step that comes after it and its branches; null: the run ends after it. */
  next: Step | null;
  /** What the run has waited for at the step; null: it has just come to it. */
  wait: RunWait | null;
  context: RunContext;
}

/** What a step works with inside the transaction of a run. */
export interface Acting {
  trx: Queryable;
  run: ActingRun;
  asOf: Date;
  /** What acts on tracked events. */
  consumers: readonly TrackedEventConsumer[];
  /** Receives what to do after the commit. */
  afterCommit: (() => void)[];
  /** Writes the message of a step. */
  send: (message: { id: number; channel: Channel }) => Promise<StepResult | { exit: string }>;
  /** Call it before taking a lock for which others wait: the transaction does no further step. */
  holdLocks: () => void;
}

/**
 * What steps read of the run. Test runs track test events, and leave contacts and lists as they are: these belong to live
 * flows, too.
 */
export type ActingRun = Pick<
  LoadedRun,
  'id' | 'account_id' | 'brand_id' | 'contact_id' | 'test' | 'chain_depth'
> & {
  /** The event that started the run. */
  event: { data?: Readonly<Record<string, unknown>> | null } | null;
};

/** What a step of a simulated run works with. */
export interface Simulating<A extends object = object> {
  asOf: Date;
  changes: Changes;
  /** Of the event that starts the run. */
  eventData: Readonly<Record<string, unknown>>;
  /** What the client assumes of the step, by the fields of {@link Assumptions}. */
  assumed: Partial<A>;
  /** Whether the contact would get a message. */
  send: (channel: Channel) => Promise<StepResult | { exit: string }>;
  /** Leaves what later filters find out about the step. */
  leave: (facts: StepOutput) => void;
}

/** What a simulated run has changed so far. */
export interface Changes {
  data: Record<string, unknown>;
  lists: Map<number, boolean>;
  events: { name: string; data: Readonly<Record<string, unknown>>; at: Date }[];
}

/** What a client of a simulation may say of a step, in `answers.steps`. */
export interface Assumptions {
  /** `"yes"` and `"no"`: whether the filters of the step hold. */
  yesNo: boolean;
  fields: z.ZodRawShape;
  /** For the description of the API. */
  description: string;
}

/** Acts, and goes on to the next step. */
export async function actAndGoOn(step: StoredStep, { next, context }: Place): Promise<Move> {
  const result = await context.act(step);
  if (!('exit' in result)) return { result, next };
  return { result: { outcome: 'skipped', detail: { reason: result.exit } }, next, exit: result.exit };
}
