/** The context of a run: what its steps read and do in the run's transaction. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import { lockContacts, type TrackedEventConsumer } from '../../contact-events/service.ts';
import { readStepOutputs } from '../filters.ts';
import { act, allSteps, awaitedEvent, sendingSteps, type Step } from '../steps/index.ts';
import type { Acting, StoredStep } from '../steps/step.ts';
import type { FlowVersion } from '../versions.ts';
import { createContactReads } from './contact-reads.ts';
import type { ArrivedEvent, AwaitedEvent, RunRecord, StepResult, RunContext } from './interpreter.ts';
import type { LoadedRun } from './load.ts';
import { type PathRow, writePath } from './path.ts';
import { type FlowSender, quietUntil } from './send.ts';
import { type Arrival, awaitEvents } from './waits.ts';

export interface RunContextDeps {
  trx: Queryable;
  run: LoadedRun;
  version: FlowVersion;
  record: RunRecord;
  asOf: Date;
  /** Events that have arrived for the run. */
  arrivals: readonly Arrival[];
  send: FlowSender;
  consumers: readonly TrackedEventConsumer[];
  afterCommit: (() => void)[];
  /** Called after the commit, with the backlog of each queued message. */
  wakeSenders: (backlog: string) => void;
  /** How long the transaction may take further steps, in ms; 2,000 by default. */
  stepsMs?: number;
}

/** How long a transaction may take further steps before others have their turn, in ms. */
const MAX_STEPS_MS = 2_000;

/** What the steps of one transaction leave to be written together with the run. */
export interface Effects {
  /** Events that have been judged; they are not judged again. */
  judged: number[];
  /** Waits that ended. */
  ended: number[];
  /** Whether a step took locks for which events of the contact or brand, or test messages of the account, wait. */
  holdsLocks: boolean;
  /** Writes the steps taken since the last call. */
  writePath(): Promise<void>;
}

/** Whether runs of a version may wait for events. */
export function awaitsEvents({ goal, steps }: FlowVersion): boolean {
  return goal !== null || allSteps(steps).some((step) => awaitedEvent(step) !== null);
}

/** Whether runs of a version may send messages. */
export function sendsMessages({ steps }: FlowVersion): boolean {
  return sendingSteps(steps).length > 0;
}

/** Builds what steps act with. */
function actingOf(deps: RunContextDeps, effects: Effects): Acting {
  const { trx, run, asOf, consumers, afterCommit, send, wakeSenders } = deps;
  const sends = send({ onQueued: (backlog) => void afterCommit.push(() => wakeSenders(backlog)) });
  return {
    trx,
    run,
    asOf,
    consumers,
    afterCommit,
    async send(step) {
      const [result] = await sends.decide(trx, [{ run, step }], asOf);
      if (!result) throw new Error('nothing was decided about the message of a step');
      await sends.write(trx);
      return result;
    },
    holdLocks: () => void (effects.holdsLocks = true),
  };
}

/** Whether the step has already acted: a run that moved to another version may reach a step again. */
async function hasActed({ trx, run }: RunContextDeps, { id }: StoredStep): Promise<boolean> {
  if (!run.moved) return false;
  const { rowCount } = await trx.query('select 1 from flow_run_steps where run_id = $1 and step_id = $2', [
    run.id,
    id,
  ]);
  return (rowCount ?? 0) > 0;
}

function actsOf(deps: RunContextDeps, effects: Effects): RunContext['act'] {
  const acting = actingOf(deps, effects);
  return async (step) => {
    if (await hasActed(deps, step)) return { outcome: 'skipped', detail: { reason: 'already_done' } };
    return act(step, acting);
  };
}

/** Since when earlier events count for a wait. */
async function countsSince(
  { trx, run, record, asOf }: RunContextDeps,
  { id: stepId, include_since: since }: AwaitedEvent,
): Promise<Date> {
  // If an earlier transaction or a move already brought the run to this step, events written since then count.
  const cameBefore = record.stepId === stepId && (record.wait === null || record.wait.for === 'event');
  if (since === undefined) return cameBefore ? new Date(record.arrivedAt) : asOf;
  const entered = new Date(run.event?.created_at ?? record.enteredAt);
  if (since === 'entry') return entered;
  const { rows } = await trx.query<{ left_at: Date | null }>(
    'select max(left_at) as left_at from flow_run_steps where run_id = $1 and step_id = $2',
    [run.id, since.step],
  );
  return rows[0]?.left_at ?? asOf;
}

function waitsOf(
  deps: RunContextDeps,
  effects: Effects,
): Pick<RunContext, 'awaitEvent' | 'arrivals' | 'endAwait'> {
  const { trx, run } = deps;
  const judge = (step: AwaitedEvent): ArrivedEvent[] => {
    const own = deps.arrivals.filter(({ stepId }) => stepId === step.id);
    effects.judged.push(...own.map(({ id }) => id));
    return own;
  };
  return {
    async awaitEvent(step) {
      // Marks events as judged that arrived for an earlier version of the step; they do not count for this one.
      judge(step);
      await effects.writePath();
      // Events of the contact wait for this lock, so take it as late as possible, and take no further step under it.
      effects.holdsLocks = true;
      await lockContacts(trx, [run.contact_id], 'exclusive');
      return awaitEvents(trx, {
        runId: run.id,
        stepId: step.id,
        brandId: run.brand_id,
        contactId: run.contact_id,
        eventName: step.event_name,
        test: run.test,
        since: await countsSince(deps, step),
        causeId: run.event?.id ?? null,
        again: step.include_since !== undefined,
      });
    },
    arrivals: (step) => Promise.resolve(judge(step)),
    endAwait(step) {
      effects.ended.push(step.id);
      return Promise.resolve();
    },
  };
}

/** The result of a step whose request was made outside the transaction. */
async function answerOf({ trx, run }: RunContextDeps, { id }: StoredStep): Promise<StepResult | null> {
  const { rows } = await trx.query<{ outcome: string; detail: Record<string, unknown> | null }>(
    `select outcome, detail from flow_run_steps where run_id = $1 and step_id = $2 order by iteration desc limit 1`,
    [run.id, id],
  );
  const row = rows[0];
  return row ? { outcome: row.outcome, ...(row.detail && { detail: row.detail }) } : null;
}

function factsOf(deps: RunContextDeps, effects: Effects) {
  const { trx, run, version, asOf } = deps;
  const reads = createContactReads(trx, () => ({
    flowId: run.flow_id,
    brandId: run.brand_id,
    contactId: run.contact_id,
    asOf,
    trigger: run.event && (run.event.data ?? {}),
    steps: async (ids) => {
      await effects.writePath();
      return readStepOutputs(trx, run.id, ids);
    },
  }));
  return {
    ...reads,
    async mustExit() {
      if (version.exitFilters.length === 0) return null;
      return (await reads.matches(version.exitFilters)) ? 'exit_filters' : null;
    },
    quietUntil: async () => (run.quiet_hours ? quietUntil(run, await reads.timezone(), asOf) : null),
  };
}

/** Creates the context of a locked run. @returns the context, and what must be written after its steps */
export function createRunContext(deps: RunContextDeps): { context: RunContext; effects: Effects } {
  const { trx, run, asOf, stepsMs = MAX_STEPS_MS } = deps;
  const path: PathRow[] = [];
  const effects: Effects = {
    judged: [],
    ended: [],
    holdsLocks: false,
    writePath: () => writePath(trx, run, path.splice(0)),
  };
  const began = performance.now();
  let isBegun = false;
  const context: RunContext = {
    asOf,
    ...factsOf(deps, effects),
    act: actsOf(deps, effects),
    ...waitsOf(deps, effects),
    answer: (step) => answerOf(deps, step),
    record(step: Step, place, arrived, result) {
      isBegun = true;
      path.push({ step, place, arrived, left: asOf, result });
      return Promise.resolve();
    },
    mustCommit: () => effects.holdsLocks || (isBegun && performance.now() - began > stepsMs),
  };
  return { context, effects };
}
