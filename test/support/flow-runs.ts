import type pg from 'pg';
import pino from 'pino';
import { lockContacts } from '../../src/features/contact-events/service.ts';
import { createTrackedEventConsumers } from '../../src/features/events.ts';
import { firstRecord, type StepResult } from '../../src/features/flows/run/interpreter.ts';
import type { FlowSender } from '../../src/features/flows/run/send.ts';
import { registerGoals } from '../../src/features/flows/run/waits.ts';
import { draftEvent } from '../../src/features/contact-events/draft.ts';
import { trackEventBody } from '../../src/features/contact-events/schema.ts';
import { createTracker } from '../../src/features/contact-events/track.ts';
import type { Step } from '../../src/features/flows/steps/index.ts';
import { inTransaction, type Queryable } from '../../src/platform/db/queryable.ts';
import type { QueuedAccount } from './queued.ts';

/** The parts of a test's flow. */
export interface FlowSpec {
  steps: readonly Step[];
  goal?: string;
  exitFilters?: readonly unknown[];
  status?: 'draft' | 'active' | 'paused' | 'archived';
  name?: string;
}

export interface TestFlow {
  id: number;
  versionId: number;
  goal: string | null;
}

/** Inserts a version of a flow. @returns its id */
export async function insertFlowVersion(
  db: Queryable,
  flowId: number,
  { steps, goal, exitFilters = [] }: FlowSpec,
): Promise<number> {
  const { rows } = await db.query<{ id: number }>(
    `insert into flow_versions (flow_id, n, goal, exit_filters, steps)
     select $1, coalesce(max(n), 0) + 1, $2, $3, $4 from flow_versions where flow_id = $1 returning id`,
    [flowId, goal ?? null, JSON.stringify(exitFilters), JSON.stringify(steps)],
  );
  const id = rows[0]?.id ?? 0;
  await db.query('update flows set version_id = $2, steps = $3, goal = $4 where id = $1', [
    ...[flowId, id, JSON.stringify(steps), goal ?? null],
  ]);
  return id;
}

/** Inserts an active flow with its first version. */
export async function insertFlow(
  db: Queryable,
  { accountId, brandId }: QueuedAccount,
  spec: FlowSpec,
): Promise<TestFlow> {
  const { rows } = await db.query<{ id: number }>(
    `insert into flows (account_id, brand_id, name, status, activated_at, counted_from)
     values ($1, $2, $3, $4, now(), now()) returning id`,
    [accountId, brandId, spec.name ?? 'Welcome', spec.status ?? 'active'],
  );
  const id = rows[0]?.id ?? 0;
  await db.query('insert into flow_brands (brand_id) values ($1) on conflict do nothing', [brandId]);
  return { id, versionId: await insertFlowVersion(db, id, spec), goal: spec.goal ?? null };
}

export interface RunSpec {
  asOf?: Date;
  cause?: string;
  event?: { id: number; name: string; data: Record<string, unknown>; created_at: string };
  test?: boolean;
  chainDepth?: number;
  /** The cohort whose workflow is its clock; see `insertCohort`. */
  cohortId?: number;
}

let causes = 0;

/**
 * Lets a contact enter a flow like the loop of entries does, but without a workflow.
 * @returns the id of the run
 */
export function insertRun(
  pool: pg.Pool,
  { accountId, brandId }: QueuedAccount,
  flow: TestFlow,
  contactId: number,
  {
    asOf = new Date(),
    cause = `m${(causes += 1)}`,
    event,
    test = false,
    chainDepth = 0,
    cohortId,
  }: RunSpec = {},
): Promise<number> {
  return inTransaction(pool, async (trx) => {
    await lockContacts(trx, [contactId], 'exclusive');
    const { rows } = await trx.query<{ id: number }>(
      `insert into flow_runs (account_id, brand_id, flow_id, version_id, contact_id, cause, event, test, chain_depth,
         record, engine_expected_by, cohort_id)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
         case when $11::bigint is null then now() + interval '1 hour' end, $11) returning id`,
      [
        ...[accountId, brandId, flow.id, flow.versionId, contactId, cause, event && JSON.stringify(event)],
        ...[test, chainDepth, JSON.stringify(firstRecord(asOf)), cohortId],
      ],
    );
    const id = rows[0]?.id ?? 0;
    if (flow.goal !== null) {
      const goal = { id, brandId, contactId, test, goal: flow.goal, since: asOf, causeId: event?.id ?? null };
      await registerGoals(trx, [goal]);
    }
    return id;
  });
}

/** Writes no messages. @param resultOf what becomes of the message of a run, which the path then shows */
export function senderOfResults(resultOf: (runId: number) => StepResult | { exit: string }): FlowSender {
  return () => ({
    decide: (_trx, requests) => Promise.resolve(requests.map(({ run }) => resultOf(run.id))),
    unwritten: new Set(),
    write: () => Promise.resolve([]),
  });
}

/** For runs that do not send. */
export const sendsNothing: FlowSender = senderOfResults(() => {
  throw new Error('nothing is sent here');
});

/** The row of a run. */
export async function runRow(db: Queryable, id: number) {
  const { rows } = await db.query<{
    state: string;
    reason: string | null;
    waits_for: string | null;
    due_at: Date | null;
    step_id: number | null;
    version_id: number;
    moved: boolean;
    engine_expected_by: Date | null;
    ended_at: Date | null;
    event: unknown;
    record: { wait: unknown; steps: number };
    updated_at: Date;
  }>('select * from flow_runs where id = $1', [id]);
  return rows[0];
}

/** The path of a run: `<step> <outcome>`. */
export async function pathOf(db: Queryable, id: number): Promise<string[]> {
  const { rows } = await db.query<{ step_id: number; outcome: string }>(
    'select step_id, outcome from flow_run_steps where run_id = $1 order by n',
    [id],
  );
  return rows.map(({ step_id: stepId, outcome }) => `${stepId} ${outcome}`);
}

/**
 * Tracks events of contacts like POST /events does.
 * @returns the ids of the events
 */
export function createTestTracker(pool: pg.Pool, { accountId, brandId }: QueuedAccount) {
  const track = createTracker({
    pool,
    ensureContacts: null,
    consumers: createTrackedEventConsumers({ waker: { wake: () => undefined } }),
    log: pino({ level: 'silent' }),
  });
  return async (
    events: readonly { contactId: number; event: string; data?: Record<string, unknown>; test?: boolean }[],
  ): Promise<number[]> => {
    const drafts = events.map(({ contactId, ...event }) =>
      draftEvent(
        { accountId, brandId, test: false, userId: null, chainDepth: 0, generated: false, mail: null },
        trackEventBody.parse({ ...event, contact_id: contactId }),
        null,
      ),
    );
    const results = await Promise.all(
      (await track(drafts)).map(async (tracked) => ('now' in tracked ? tracked.now : await tracked.later)),
    );
    return results.map((result) => {
      if (result.status !== 'created') throw new Error(`the event was not tracked: ${result.status}`);
      return result.event.id;
    });
  };
}
