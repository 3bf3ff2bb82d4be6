/** What the runs of a transaction read and do together, each kind with the same statements for one run and for many. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import { lockContacts } from '../../contact-events/service.ts';
import { flowMatchesEach, readStepOutputs, type RunScope } from '../filters.ts';
import type { Filters } from '../steps/step.ts';
import { type ContactReader, type ContactTimes, readContacts, type ReadScope } from './contact-reads.ts';
import type { Gathering } from './gathering.ts';
import type { ArrivedEvent, StepResult } from './interpreter.ts';
import type { LoadedRun } from './load.ts';
import type { Paths } from './path.ts';
import type { FlowSends, SendRequest } from './send.ts';
import { awaitEvents, type NewWait } from './waits.ts';

/** The transaction that takes steps of runs. */
export interface BatchTransaction {
  trx: Queryable;
  asOf: Date;
  gathering: Gathering;
  sends: FlowSends;
  paths: Paths;
}

/** A run reads its filters. */
export interface MatchScope extends ReadScope, RunScope {
  runId: number;
}

/** A run begins to wait for an event. */
export interface WaitQuestion {
  wait: Omit<NewWait, 'since'>;
  /** Since when earlier events count. `leftStep`: since the run left that step, if it did. */
  since: { time: Date; leftStep?: number };
}

interface StepOfRun {
  run: LoadedRun;
  step: { id: number };
}

type SendOfRun = SendRequest & { run: LoadedRun };

/** The functions by which runs ask, each for itself. */
export interface Questions extends ContactReader<MatchScope> {
  /** The result of a step whose request was made outside the transaction; null: it has none yet. */
  answer(asked: StepOfRun): Promise<StepResult | null>;
  /** Whether the run has taken the step before. */
  hasTaken(asked: StepOfRun): Promise<boolean>;
  send(asked: SendOfRun): Promise<StepResult | { exit: string }>;
  /** Registers the wait. @returns the earlier events that count */
  awaitEvent(asked: WaitQuestion): Promise<ArrivedEvent[]>;
}

const idsOf = (asked: readonly StepOfRun[]) => [
  asked.map(({ run }) => run.id),
  asked.map(({ step }) => step.id),
];

async function readAnswers(trx: Queryable, asked: readonly StepOfRun[]): Promise<(StepResult | null)[]> {
  const { rows } = await trx.query<{ n: number; outcome: string; detail: Record<string, unknown> | null }>({
    name: 'answers_of_flow_steps',
    text: `
      select w.n::int, s.outcome, s.detail
      from unnest($1::bigint[], $2::integer[]) with ordinality as w (run_id, step_id, n) cross join lateral (
        select outcome, detail from flow_run_steps
        where run_id = w.run_id and step_id = w.step_id order by iteration desc limit 1) s`,
    values: idsOf(asked),
  });
  const results = new Map(
    rows.map(({ n, outcome, detail }): [number, StepResult] => [n, { outcome, ...(detail && { detail }) }]),
  );
  return asked.map((_, n) => results.get(n + 1) ?? null);
}

async function readTaken(trx: Queryable, asked: readonly StepOfRun[]): Promise<boolean[]> {
  const { rows } = await trx.query<{ n: number }>({
    name: 'taken_flow_steps',
    text: `
      select w.n::int from unnest($1::bigint[], $2::integer[]) with ordinality as w (run_id, step_id, n)
      where exists (select 1 from flow_run_steps s where s.run_id = w.run_id and s.step_id = w.step_id)`,
    values: idsOf(asked),
  });
  const taken = new Set(rows.map(({ n }) => n));
  return asked.map((_, n) => taken.has(n + 1));
}

/** When runs left steps; runs that did not are absent. */
async function readLeft(trx: Queryable, asked: readonly WaitQuestion[]): Promise<ReadonlyMap<number, Date>> {
  const steps = asked.filter(({ since }) => since.leftStep !== undefined);
  if (steps.length === 0) return new Map();
  const { rows } = await trx.query<{ runId: number; leftAt: Date }>({
    name: 'left_flow_steps',
    text: `
      select s.run_id as "runId", max(s.left_at) as "leftAt"
      from unnest($1::bigint[], $2::integer[]) as w (run_id, step_id)
      join flow_run_steps s on s.run_id = w.run_id and s.step_id = w.step_id
      where s.left_at is not null group by s.run_id`,
    values: [steps.map(({ wait }) => wait.runId), steps.map(({ since }) => since.leftStep)],
  });
  return new Map(rows.map(({ runId, leftAt }) => [runId, leftAt]));
}

/** Writes the messages that wait, and the path of those that a limit refused. */
export async function writeMessages({ trx, sends, paths }: BatchTransaction): Promise<void> {
  if (sends.unwritten.size > 0) await paths.correct(await sends.write(trx));
}

/** Answers the questions of runs. The order of their kinds is that of the locks they take. */
export function createQuestions(transaction: BatchTransaction): Questions {
  const { trx, asOf, gathering, sends, paths } = transaction;
  /** What a run reads, and locks for which events wait, come after its messages. */
  const writeMessagesOf = async (runIds: readonly number[]) => {
    if (runIds.some((id) => sends.unwritten.has(id))) await writeMessages(transaction);
  };
  return {
    contact: gathering.kind<{ brandId: number; contactId: number }, ContactTimes | null>(0, (asked) =>
      readContacts(trx, asked),
    ),
    answer: gathering.kind<StepOfRun, StepResult | null>(1, (asked) => readAnswers(trx, asked)),
    hasTaken: gathering.kind<StepOfRun, boolean>(2, (asked) => readTaken(trx, asked)),
    matches: matchesOf(transaction, writeMessagesOf),
    send: gathering.kind(4, async (requests: readonly SendOfRun[]) => {
      const counting = requests.filter(({ run }) => run.capped || run.event?.mail !== undefined);
      await writeMessagesOf(counting.map(({ run }) => run.id));
      return sends.decide(trx, requests, asOf);
    }),
    awaitEvent: gathering.kind(5, async (asked: readonly WaitQuestion[]) => {
      await writeMessagesOf(asked.map(({ wait }) => wait.runId));
      await paths.write();
      const left = await readLeft(trx, asked);
      // Events of the contacts wait for these locks, so take them as late as possible.
      await lockContacts(
        trx,
        asked.map(({ wait }) => wait.contactId),
        'exclusive',
      );
      return awaitEvents(
        trx,
        asked.map(({ wait, since }) => ({ ...wait, since: left.get(wait.runId) ?? since.time })),
      );
    }),
  };
}

function matchesOf(
  { trx, gathering, paths }: BatchTransaction,
  writeMessagesOf: (runIds: readonly number[]) => Promise<void>,
): Questions['matches'] {
  const ask = gathering.kind<{ scope: MatchScope; filters: Filters }, boolean>(3, async (asked) => {
    await writeMessagesOf(asked.map(({ scope }) => scope.runId));
    return flowMatchesEach(trx, asked, async (wanted) => {
      await paths.write();
      return readStepOutputs(
        trx,
        wanted.map(({ scope, ids }) => ({ runId: scope.runId, ids })),
      );
    });
  });
  return (scope, filters) => ask({ scope, filters });
}
