// Runs in PostgreSQL store the same path as the reference interpreter, alone and many in each transaction.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import pino from 'pino';
import { lockContacts } from '../../../../src/features/contact-events/service.ts';
import { createTrackedEventConsumers } from '../../../../src/features/events.ts';
import { advanceRun, type AdvanceDeps } from '../../../../src/features/flows/run/advance.ts';
import { advanceAlone, advanceBatch } from '../../../../src/features/flows/run/batch.ts';
import { percentileOf } from '../../../../src/features/flows/run/contact-reads.ts';
import { arrive } from '../../../../src/features/flows/run/waits.ts';
import { allSteps } from '../../../../src/features/flows/steps/index.ts';
import { createFlowVersionReader } from '../../../../src/features/flows/versions.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertFlow, insertRun, runRow, senderOfResults, type TestFlow } from '../../../support/flow-runs.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';
import { type OutsideEvent, type Scenario, scenarios } from './random-flows.ts';
import { type ReferenceStep, referencePath } from './reference.ts';

/** Each takes some ten transactions. */
const RUNS = 60;
const SEED = Number(process.env.FLOWS_SEED ?? Date.now() % 2 ** 31);

let db: TestDatabase;
const pool = () => db.database.pool;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

interface Stage {
  account: QueuedAccount;
  flow: TestFlow;
  contactId: number;
  runId: number;
}

/** The lists of a scenario are 1 to 3; those of the database have other ids. */
function withLists(value: unknown, lists: readonly number[]): unknown {
  const text = JSON.stringify(value, (key, inner: unknown) => {
    if (key === 'list_id') return lists[(inner as number) - 1];
    const filter = inner as { name?: unknown; value: number[] } | null;
    if (typeof filter !== 'object' || filter?.name !== 'list') return inner;
    return { ...filter, value: filter.value.map((list) => lists[list - 1]) };
  });
  return JSON.parse(text);
}

/** What flows track themselves happens now, so nothing waits for it here. */
function withoutOwnEvents(scenario: Scenario): Scenario {
  const { steps } = structuredClone(scenario);
  for (const step of allSteps(steps)) if (step.type === 'event') step.event_name = 'tracked';
  return { ...scenario, steps };
}

async function insertEvents(
  { account, contactId }: Pick<Stage, 'account' | 'contactId'>,
  events: readonly { name: string; data: object; at: Date }[],
): Promise<number[]> {
  const { rows } = await pool().query<{ id: number }>(
    `with e as (
       select * from unnest($4::text[], $5::jsonb[], $6::timestamptz[]) with ordinality as e (name, data, at, n)
     ), names as (
       insert into event_names (brand_id, name) select distinct $2::bigint, name from e on conflict do nothing returning id, name
     ), known as (
       select id, name from names union select id, name from event_names where brand_id = $2
     )
     insert into contact_events (account_id, brand_id, contact_id, name_id, test, data, created_at)
     select $1, $2, $3, k.id, false, e.data, e.at from e join known k using (name) order by e.n returning id`,
    [
      ...[account.accountId, account.brandId, contactId, events.map(({ name }) => name)],
      ...[events.map(({ data }) => JSON.stringify(data)), events.map(({ at }) => at)],
    ],
  );
  return rows.map(({ id }) => id);
}

const timeOf = ({ enteredAt }: Scenario, { after }: OutsideEvent) => new Date(enteredAt.getTime() + after);

/** Stores the contact, the flow and the run of a scenario. */
async function store(scenario: Scenario): Promise<Stage> {
  const account = await insertAccount(db.database);
  const { accountId, brandId } = account;
  const { rows: lists } = await pool().query<{ id: number }>(
    `insert into lists (account_id, brand_id, name) select $1, $2, 'L' || n from generate_series(1, 3) n returning id`,
    [accountId, brandId],
  );
  const ids = lists.map(({ id }) => id);
  const { rows } = await pool().query<{ id: number }>(
    'insert into contacts (account_id, brand_id, data) values ($1, $2, $3) returning id',
    [accountId, brandId, JSON.stringify({ ...scenario.data, timezone: scenario.timezone })],
  );
  const contactId = rows[0]?.id ?? 0;
  await pool().query('insert into list_members (contact_id, list_id) select $1, unnest($2::bigint[])', [
    contactId,
    scenario.lists.map((list) => ids[list - 1]),
  ]);
  const quiet = scenario.quiet ? { start: '22:00', end: '08:00', timezone: 'UTC' } : null;
  await pool().query('update brands set quiet_hours = $2 where id = $1', [
    brandId,
    quiet && JSON.stringify(quiet),
  ]);
  const before = scenario.events.filter(({ after }) => after <= 0);
  await insertEvents(
    { account, contactId },
    before.map((event) => ({ ...event, at: timeOf(scenario, event) })),
  );
  const spec = withLists({ steps: scenario.steps, exitFilters: scenario.exitFilters }, ids);
  const flow = await insertFlow(pool(), account, spec as Pick<Scenario, 'steps' | 'exitFilters'>);
  const runId = await insertRun(pool(), account, flow, contactId, {
    asOf: scenario.enteredAt,
    cause: 'e1',
    event: {
      id: 2 ** 40,
      name: 'began',
      data: scenario.trigger,
      created_at: scenario.enteredAt.toISOString(),
    },
  });
  return { account, flow, contactId, runId };
}

/** Writes an event and lets it arrive in one transaction, as of its time. */
async function happen(stage: Stage, scenario: Scenario, event: OutsideEvent): Promise<void> {
  const { account, contactId } = stage;
  const at = timeOf(scenario, event);
  const [id = 0] = await insertEvents(stage, [{ ...event, at }]);
  await inTransaction(pool(), async (trx) => {
    await lockContacts(trx, [contactId]);
    const { name, data } = event;
    await arrive(trx, [{ id, brandId: account.brandId, contactId, name, data, createdAt: at, test: false }]);
  });
}

const results = {
  sent: { outcome: 'sent' },
  no_address: { outcome: 'skipped', detail: { reason: 'no_address' } },
  unsubscribed: { exit: 'unsubscribed' },
};

/** @param sendsOf what becomes of the messages of a run */
function depsOf(sendsOf: (runId: number) => Scenario['sends']): AdvanceDeps {
  const waker = { wake: () => undefined };
  return {
    pool: pool(),
    versions: createFlowVersionReader(pool()),
    send: senderOfResults((runId) => ({ ...results[sendsOf(runId)] })),
    consumers: createTrackedEventConsumers({ waker }),
    waker,
    log: pino({ level: 'silent' }),
  };
}

/** Keeps the answer of a webhook, as its activity does. */
async function answer({ runId, flow }: Stage, { statuses }: Scenario, stepId: number, asOf: Date) {
  const status = statuses[stepId % 3];
  await pool().query(
    `insert into flow_run_steps (run_id, flow_id, step_id, n, type, outcome, detail, entered_at)
     values ($1, $2, $3, 0, 'webhook', $4, $5, $6)`,
    [
      runId,
      flow.id,
      stepId,
      status === 200 ? 'done' : 'failed',
      JSON.stringify({ status, body: null }),
      asOf,
    ],
  );
}

/** Advances the run like its workflow, and lets the events happen at their times. */
async function follow(stage: Stage, scenario: Scenario): Promise<void> {
  const deps = depsOf(() => scenario.sends);
  const coming = scenario.events.filter(({ after }) => after > 0);
  let asOf = scenario.enteredAt;
  for (;;) {
    const step = await advanceRun(deps, stage.runId, asOf);
    if (step.next === 'done') return;
    if (step.next === 'call') await answer(stage, scenario, step.stepId, asOf);
    if (step.next !== 'wait') continue;
    const due = new Date(step.until ?? NaN);
    const [event] = coming;
    if (!event || timeOf(scenario, event) > due) asOf = due;
    else {
      coming.shift();
      asOf = timeOf(scenario, event);
      await happen(stage, scenario, event);
    }
  }
}

async function storedPath({ runId }: Stage) {
  const { rows: path } = await pool().query<ReferenceStep>(
    `select step_id, to_char(entered_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as entered_at,
       to_char(left_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as left_at, outcome
     from flow_run_steps where run_id = $1 order by n`,
    [runId],
  );
  const { rows } = await pool().query<{ state: string; reason: string; ended_at: Date; left: number }>(
    `select state, reason, ended_at, (select count(*)::int from flow_waits where run_id = $1)
       + (select count(*)::int from flow_arrivals where run_id = $1) as left from flow_runs where id = $1`,
    [runId],
  );
  return { path, end: rows[0] };
}

async function expectReferencePath(stage: Stage, scenario: Scenario): Promise<void> {
  const percentile = (step: number) => percentileOf(stage.flow.id, stage.contactId, step);
  const expected = referencePath(scenario, percentile);
  const { path, end } = await storedPath(stage);
  expect(path).toEqual(expected.path);
  expect(end).toEqual({
    state: expected.state,
    reason: expected.reason,
    ended_at: new Date(expected.at),
    left: 0,
  });
}

it('is stored along the path of the reference interpreter', async () => {
  await fc.assert(
    fc.asyncProperty(scenarios.map(withoutOwnEvents), async (scenario) => {
      const stage = await store(scenario);
      await follow(stage, scenario);
      await expectReferencePath(stage, scenario);
    }),
    { numRuns: RUNS, seed: SEED, endOnFailure: true },
  );
}, 120_000);

/** A run of a cohort, with what still happens. */
interface Follower {
  stage: Stage;
  scenario: Scenario;
  coming: OutsideEvent[];
  /** When its next event happens or its step is due; null: it has ended. */
  next: Date | null;
}

/** Takes all due steps of runs, as the clock of a cohort does. */
async function advanceTogether(deps: AdvanceDeps, runIds: readonly number[], asOf: Date): Promise<void> {
  for (let ids = runIds; ids.length > 0;) {
    const acts = await advanceBatch(deps, ids, 'acts', asOf);
    const waits = await advanceBatch(deps, acts.waits, 'waits', asOf);
    const again = [...acts.again, ...waits.again];
    for (const id of [...acts.alone, ...waits.alone]) {
      if ((await advanceAlone(deps, id, asOf)).next === 'again') again.push(id);
    }
    expect([...acts.left, ...waits.left, ...waits.waits]).toEqual([]);
    ids = again;
  }
}

/** Answers the webhook that a run waits for, as its activity does. @returns the next time of the run */
async function settle({ stage, scenario, coming }: Follower, asOf: Date): Promise<Date | null> {
  const row = await runRow(pool(), stage.runId);
  if (row?.state !== 'active') return null;
  if (row.waits_for === 'webhook') {
    await answer(stage, scenario, row.step_id ?? 0, asOf);
    await pool().query('update flow_runs set waits_for = null where id = $1', [stage.runId]);
    return asOf;
  }
  const due = row.due_at ?? asOf;
  const [event] = coming;
  const at = event && timeOf(scenario, event);
  return at && at <= due ? at : due;
}

/** Lets the first event that is due happen. */
async function happenNext({ stage, scenario, coming }: Follower, asOf: Date): Promise<void> {
  const [event] = coming;
  if (!event || timeOf(scenario, event) > asOf) return;
  coming.shift();
  await happen(stage, scenario, event);
}

it('is the same if many runs of different flows advance in one transaction', async () => {
  const enteredAt = new Date('2026-03-21T09:30:00.250Z');
  const given = fc.sample(scenarios.map(withoutOwnEvents), { numRuns: 2 * RUNS, seed: SEED });
  const followers: Follower[] = [];
  for (const scenario of given.map((one) => ({ ...one, enteredAt }))) {
    const coming = scenario.events.filter(({ after }) => after > 0);
    followers.push({ stage: await store(scenario), scenario, coming, next: enteredAt });
  }
  await pool().query('update flow_runs set cohort_id = 1, engine_expected_by = null');
  const sends = new Map(followers.map(({ stage, scenario }) => [stage.runId, scenario.sends]));
  const deps = depsOf((runId) => sends.get(runId) ?? 'sent');
  for (;;) {
    const times = followers.flatMap(({ next }) => next?.getTime() ?? []);
    if (times.length === 0) break;
    const asOf = new Date(Math.min(...times));
    const due = followers.filter(({ next }) => next?.getTime() === asOf.getTime());
    for (const one of due) await happenNext(one, asOf);
    await advanceTogether(
      deps,
      due.map(({ stage }) => stage.runId),
      asOf,
    );
    for (const one of due) one.next = await settle(one, asOf);
  }
  for (const { stage, scenario } of followers) await expectReferencePath(stage, scenario);
}, 120_000);
